//! When a control plane is reconciled again without an event. Pure functions.

use std::time::Duration;

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::controlplane::KubeadmControlPlane;

use super::observed::{Kubeconfig, Observed, Template};
use super::{authorities, outdated};
use crate::names::condition;

/// Interval between checks of state that changes without an event: etcd's members, a control plane that is
/// not initialised yet.
const LOOK_AGAIN: Duration = Duration::from_secs(20);
/// The same interval while a machine is new: its members and Pods come up within seconds, and somebody waits for them.
const LOOK_SOON: Duration = Duration::from_secs(2);
/// How long a machine is new.
const NEW: chrono::Duration = chrono::Duration::minutes(2);

/// Returns the time until something is due that has no event. `control_plane` has its new conditions, and `remediation` is when a Machine
/// may be remediated that may not be now.
pub(super) fn requeue(
    observed: &Observed,
    control_plane: &KubeadmControlPlane,
    remediation: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Option<Duration> {
    let unwell = |type_: &str| control_plane.condition(type_).is_some_and(|found| found.status != "True");
    let mut waits = Vec::new();
    if observed.template == Template::Missing && observed.desired_replicas() > 0 {
        // The template's kind may not be installed, and a kind that is not installed has no events.
        waits.push(LOOK_AGAIN);
    }
    let valid = observed.valid_from.and_then(|from| (from - now).to_std().ok());
    waits.extend(valid);
    let is_begun = observed.was_initialized() || authorities::certificates_complete(observed);
    if !observed.machines.is_empty() && is_begun {
        if !observed.is_initialized()
            || unwell(condition::COMPONENTS_HEALTHY)
            || unwell(condition::ETCD_CLUSTER_HEALTHY)
        {
            waits.push(if has_new_machine(observed, now) { LOOK_SOON } else { LOOK_AGAIN });
        }
        let mut due = rollouts(observed);
        due.extend(remediation);
        if let Kubeconfig::Ours(expires) = observed.kubeconfig {
            due.push(expires - chrono::Duration::days(authorities::RENEW_KUBECONFIG_DAYS));
        }
        // What is due by now is in this plan.
        waits.extend(due.into_iter().filter(|due| *due > now).filter_map(|due| (due - now).to_std().ok()));
    }
    waits.into_iter().min()
}

fn has_new_machine(observed: &Observed, now: DateTime<Utc>) -> bool {
    let created =
        observed.machines.iter().filter_map(|member| member.machine.metadata.creation_timestamp.as_ref());
    created.into_iter().any(|created| now - engine::time::utc(created) < NEW)
}

/// Returns the times at which Machines become outdated.
fn rollouts(observed: &Observed) -> Vec<DateTime<Utc>> {
    let rollout = observed.control_plane.spec.rollout.as_ref();
    let after = rollout.and_then(|rollout| rollout.after.as_deref()).and_then(parse_rfc3339);
    let days = rollout.and_then(|rollout| rollout.before.as_ref()?.certificates_expiry_days);
    let expiring = observed.machines.iter().filter_map(|member| {
        let date = outdated::certificates_expiry(member)? - outdated::renewal(observed, days?);
        // Certificates that expire in exactly this many days are not yet a reason.
        Some(date + chrono::Duration::seconds(1))
    });
    after.into_iter().chain(expiring).collect()
}
