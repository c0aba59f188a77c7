//! Conditions: setting, finding and mirroring them, and merging them into summaries and aggregates as Cluster
//! API does.

mod aggregate;
mod merge;
pub mod mirror;
mod summary;

use chrono::{DateTime, Utc};
use kube::Resource;
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::meta::Condition;

use crate::error::Error;

pub use aggregate::{Source, aggregate};
pub use merge::{Priority, Reasons, polarity};
pub use mirror::{Fallback, mirror, read};
pub use summary::{Summary, summarize};

/// Status of a condition that holds.
pub const TRUE: &str = "True";
/// Status of a condition that does not hold.
pub const FALSE: &str = "False";
/// Status of a condition whose state cannot be determined.
pub const UNKNOWN: &str = "Unknown";
/// Reason for a source condition that is absent.
pub const NOT_YET_REPORTED: &str = "NotYetReported";

/// The longest message of a condition that the API server accepts, in characters.
const MAX_MESSAGE: usize = 32768;

/// The order of conditions in a status: these first, then any others by name, then those in `LAST`.
const ORDER: &[&str] = &[
    "Available",
    "Ready",
    "UpToDate",
    "RemoteConnectionProbe",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "CertificatesAvailable",
    "Initialized",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "NodeHealthy",
    "NodeReady",
    "NodeKubeadmLabelsAndTaintsSet",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "TopologyReconciled",
    "Updating",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "MachinesUpToDate",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
];
const LAST: &[&str] = &["Paused", "Deleting"];

/// Returns the sort key of a condition type within a status.
pub fn position(type_: &str) -> (usize, String) {
    if let Some(index) = ORDER.iter().position(|known| *known == type_) {
        return (index, String::new());
    }
    if let Some(index) = LAST.iter().position(|known| *known == type_) {
        return (ORDER.len() + 1 + index, String::new());
    }
    (ORDER.len(), type_.to_owned())
}

/// Returns a condition without a transition time, which [`set`] fills in.
pub fn new(type_: &str, status: &str, reason: &str, message: impl Into<String>) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        ..Condition::default()
    }
}

/// Returns a `True` condition without a message.
pub fn is_true(type_: &str, reason: &str) -> Condition {
    new(type_, TRUE, reason, "")
}

/// Returns a `False` condition with a message.
pub fn is_false(type_: &str, reason: &str, message: impl Into<String>) -> Condition {
    new(type_, FALSE, reason, message)
}

/// Returns an `Unknown` condition with a message.
pub fn is_unknown(type_: &str, reason: &str, message: impl Into<String>) -> Condition {
    new(type_, UNKNOWN, reason, message)
}

/// Returns `"True"` or `"False"`.
pub fn word(status: bool) -> &'static str {
    if status { TRUE } else { FALSE }
}

/// Sets a condition of `object`. `lastTransitionTime` changes only together with the status: to the
/// condition's own time if it has one (a mirrored condition), else to `now`.
pub fn set<K: HasConditions + Resource>(object: &mut K, now: DateTime<Utc>, mut condition: Condition) {
    condition.observed_generation = object.meta().generation.or(condition.observed_generation);
    set_in(object.conditions_mut(), now, condition);
}

/// Sets `Ready` to `False` because steps have failed.
pub fn set_not_ready<K: HasConditions + Resource>(object: &mut K, errors: &[&Error], now: DateTime<Utc>) {
    set(object, now, is_false("Ready", "NotReady", Error::joined(errors)));
}

/// Like [`set`], for a list of conditions that is not yet part of an object.
pub fn set_in(conditions: &mut Vec<Condition>, now: DateTime<Utc>, mut condition: Condition) {
    condition.message = shortened(condition.message);
    let existing = conditions.iter().position(|present| present.type_ == condition.type_);
    match existing.and_then(|index| conditions.get_mut(index)) {
        Some(present) => {
            if present.status == condition.status {
                condition.last_transition_time = std::mem::take(&mut present.last_transition_time);
            } else if condition.last_transition_time.is_empty() {
                condition.last_transition_time = rfc3339(now);
            }
            *present = condition;
        }
        None => {
            if condition.last_transition_time.is_empty() {
                condition.last_transition_time = rfc3339(now);
            }
            conditions.push(condition);
        }
    }
    conditions.sort_by_cached_key(|condition| position(&condition.type_));
}

/// Cuts a message that the API server would refuse, which counts characters.
fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE && message.chars().nth(MAX_MESSAGE).is_some() {
        message = message.chars().take(MAX_MESSAGE - 1).collect();
        message.push('…');
    }
    message
}

/// Removes the condition of this type.
pub fn remove<K: HasConditions>(object: &mut K, type_: &str) {
    if object.condition(type_).is_some() {
        object.conditions_mut().retain(|condition| condition.type_ != type_);
    }
}

/// Returns the condition of this type in a list, or `None`.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Returns whether the list has a condition of this type with this status.
pub fn has(conditions: &[Condition], type_: &str, status: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == status)
}
