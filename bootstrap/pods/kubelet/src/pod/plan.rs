//! What is to be done next for the containers of a Pod. The rules are those of Kubernetes' kubelet; the first restarts are sooner.

use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Pod;

use super::state::{Hook, Phase, State};

/// The delay before the second restart; it doubles with each further one. The first restart is immediate.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest delay, that of Kubernetes.
const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// A container that ran for this long is restarted at once again, as in Kubernetes.
const RECOVERED: Duration = Duration::from_secs(600);

/// The next steps.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    /// The containers to start, by their position.
    pub start: Vec<usize>,
    /// The containers to end.
    pub stop: Vec<usize>,
    /// The containers to wait with, and until when.
    pub back_off: Vec<(usize, DateTime<Utc>)>,
    /// When to plan again, if nothing happens before.
    pub wake: Option<DateTime<Utc>>,
}

/// Plans for containers that are not being deleted. `states` has the init containers first.
pub fn plan(pod: &Pod, states: &[State], now: DateTime<Utc>) -> Plan {
    let mut plan = Plan::default();
    let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always");
    let (init, own): (Vec<_>, Vec<_>) = states.iter().enumerate().partition(|(_, state)| state.is_init);
    let is_complete = |(_, state): &(usize, &State)| match &state.phase {
        Phase::Terminated(end) => !is_repeated(state, policy, end.code),
        _ => false,
    };
    if !own.is_empty() && own.iter().all(is_complete) {
        // Sidecars end after the others, the last one first.
        plan.stop.extend(
            init.iter().rev().find(|(_, state)| state.is_sidecar && state.is_running()).map(|(at, _)| *at),
        );
        return plan;
    }
    // Init containers ran before; only sidecars, which run all the time, are started again.
    let has_begun = own.iter().any(|(_, state)| state.was_started());
    for (at, state) in init {
        if state.is_sidecar || !(state.has_succeeded() || has_begun) {
            plan.consider(at, state, policy, now);
        }
        if !has_begun && !state.is_initialized() {
            // The later containers wait for this one.
            return plan;
        }
    }
    for (at, state) in own {
        plan.consider(at, state, policy, now);
        if state.hook == Hook::Runs {
            break;
        }
    }
    plan
}

/// Returns whether a container that has ended with this code is started again.
fn is_repeated(state: &State, policy: &str, code: i32) -> bool {
    match policy {
        _ if state.is_sidecar => true,
        "Never" => false,
        "OnFailure" => code != 0,
        _ => !state.is_init || code != 0,
    }
}

impl Plan {
    fn consider(&mut self, at: usize, state: &State, policy: &str, now: DateTime<Utc>) {
        match &state.phase {
            Phase::Running { .. } => {}
            Phase::Waiting { until, .. } => match until {
                Some(until) if *until > now => self.wake_at(*until),
                _ => self.start.push(at),
            },
            Phase::Terminated(end) => {
                let again = is_repeated(state, policy, end.code);
                let ran = (end.finished - end.started).to_std().unwrap_or_default();
                let until = end.finished + delay(state.restarts, ran);
                if again && until > now {
                    self.back_off.push((at, until));
                    self.wake_at(until);
                } else if again {
                    self.start.push(at);
                }
            }
        }
    }

    fn wake_at(&mut self, time: DateTime<Utc>) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }
}

/// Returns how long a container waits that was restarted so often and ran for so long.
pub fn delay(restarts: i32, ran: Duration) -> Duration {
    let doublings = u32::try_from(restarts).unwrap_or_default();
    if doublings == 0 || ran >= RECOVERED {
        return Duration::ZERO;
    }
    FIRST_DELAY.saturating_mul(2u32.saturating_pow((doublings - 1).min(16))).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use k8s_openapi::api::core::v1::PodSpec;

    use super::super::state::Termination;
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn ended(code: i32, restarts: i32, is_init: bool) -> State {
        let end = Termination {
            code,
            signal: None,
            reason: String::new(),
            message: String::new(),
            started: at(0),
            finished: at(10),
        };
        State { phase: Phase::Terminated(end), restarts, ..State::new("c", is_init) }
    }

    fn pod(policy: &str) -> Pod {
        Pod {
            spec: Some(PodSpec { restart_policy: Some(policy.to_owned()), ..PodSpec::default() }),
            ..Pod::default()
        }
    }

    #[test]
    fn init_containers_come_one_after_the_other() {
        let running = Phase::Running { since: at(0), started: true, ready: true };
        let new = |is_init| State::new("c", is_init);
        let runs = State { phase: running, ..new(true) };
        for (states, expected) in [
            (vec![new(true), new(true), new(false)], vec![0]),
            (vec![runs, new(true), new(false)], vec![]),
            (vec![ended(0, 0, true), new(true), new(false)], vec![1]),
            (vec![ended(0, 0, true), ended(0, 0, true), new(false), new(false)], vec![2, 3]),
            (vec![ended(1, 0, true), new(true), new(false)], vec![0]),
        ] {
            assert_eq!(plan(&pod("Always"), &states, at(20)).start, expected);
        }
    }

    #[test]
    fn sidecars_start_in_order_and_end_last() {
        let sidecar = |phase| State { is_sidecar: true, phase, ..State::new("s", true) };
        let runs = |started| Phase::Running { since: at(0), started, ready: false };
        let waits = || State::new("c", true).phase;
        let own = |phase| State { phase, ..State::new("c", false) };
        let end = |code| ended(code, 1, false).phase;
        for (policy, states, starts, stops) in [
            ("Always", vec![sidecar(waits()), State::new("i", true), own(waits())], vec![0], vec![]),
            ("Always", vec![sidecar(runs(false)), State::new("i", true), own(waits())], vec![], vec![]),
            ("Always", vec![sidecar(runs(true)), State::new("i", true), own(waits())], vec![1], vec![]),
            ("Always", vec![sidecar(runs(true)), ended(0, 0, true), own(waits())], vec![2], vec![]),
            // It is started again beside the others, whatever the policy of the Pod.
            ("Never", vec![sidecar(end(0)), own(runs(true))], vec![0], vec![]),
            ("Always", vec![sidecar(runs(false)), own(end(1))], vec![1], vec![]),
            // A Pod that is complete ends them, one after the other.
            ("Never", vec![sidecar(runs(true)), sidecar(runs(true)), own(end(1))], vec![], vec![1]),
            ("Never", vec![sidecar(runs(true)), sidecar(end(0)), own(end(1))], vec![], vec![0]),
            ("OnFailure", vec![sidecar(runs(true)), own(end(1))], vec![1], vec![]),
        ] {
            let planned = plan(&pod(policy), &states, at(20));
            assert_eq!((planned.start, planned.stop), (starts, stops), "{policy} {states:?}");
        }
    }

    #[test]
    fn later_containers_wait_for_a_hook() {
        let runs = Phase::Running { since: at(0), started: false, ready: false };
        for (hook, expected) in
            [(Hook::Runs, vec![]), (Hook::Done, vec![1]), (Hook::Failed(String::new()), vec![1])]
        {
            let first = State { phase: runs.clone(), hook, ..State::new("c", false) };
            assert_eq!(plan(&pod("Always"), &[first, State::new("d", false)], at(20)).start, expected);
        }
    }

    #[test]
    fn restarts_follow_the_policy() {
        for (policy, code, restarts) in [
            ("Always", 0, true),
            ("Always", 1, true),
            ("OnFailure", 0, false),
            ("OnFailure", 1, true),
            ("Never", 1, false),
        ] {
            let planned = plan(&pod(policy), &[ended(code, 0, false)], at(20));
            assert_eq!(!planned.start.is_empty(), restarts, "{policy} {code}");
        }
    }

    #[test]
    fn restarts_become_slower() {
        let seconds = |restarts| delay(restarts, Duration::from_secs(10)).as_secs();
        assert_eq!([0, 1, 2, 3, 9, 10, 1000].map(seconds), [0, 1, 2, 4, 256, 300, 300]);
        assert_eq!(delay(1000, RECOVERED), Duration::ZERO);
        let planned = plan(&pod("Always"), &[ended(1, 3, false)], at(11));
        let expected = Plan { back_off: vec![(0, at(14))], wake: Some(at(14)), ..Plan::default() };
        assert_eq!(planned, expected);
    }
}
