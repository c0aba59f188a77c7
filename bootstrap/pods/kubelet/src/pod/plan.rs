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
pub const RECOVERED: Duration = Duration::from_secs(600);

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
