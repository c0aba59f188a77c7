//! What is to be done next for the containers of a Pod. The rules are those of Kubernetes' kubelet; the first restarts are sooner.

use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Pod;

use super::state::{Phase, State};

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
    /// The containers to wait with, and until when.
    pub back_off: Vec<(usize, DateTime<Utc>)>,
    /// When to plan again, if nothing happens before.
    pub wake: Option<DateTime<Utc>>,
}

/// Plans for containers that are not being deleted. `states` has the init containers first.
pub fn plan(pod: &Pod, states: &[State], now: DateTime<Utc>) -> Plan {
    let mut plan = Plan::default();
    let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always");
    for (at, state) in states.iter().enumerate() {
        if state.is_init && state.has_succeeded() {
            continue;
        }
        plan.consider(at, state, policy, now);
        if state.is_init {
            // The later containers wait for this one.
            break;
        }
    }
    plan
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
                let again = match policy {
                    "Never" => false,
                    "OnFailure" => end.code != 0,
                    _ => !state.is_init || end.code != 0,
                };
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
        assert_eq!(planned, Plan { start: vec![], back_off: vec![(0, at(14))], wake: Some(at(14)) });
    }
}
