//! The v1beta1 conditions of Machines that repeat what other controllers report about them, and those that sum up several Machines.

use std::borrow::Borrow;

use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::{Condition, V1Beta1Condition};

use super::{READY, Severity, is_false, is_true, is_unknown, rank};
use crate::conditions::TRUE;

/// The condition that a MachineHealthCheck sets.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
/// The condition that the owner of an unhealthy Machine sets.
pub const OWNER_REMEDIATED: &str = "OwnerRemediated";
/// The conditions that a KubeadmControlPlane sets about static Pods.
pub const PODS: [&str; 4] =
    ["APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy"];
/// The condition that a KubeadmControlPlane sets about the etcd member.
pub const ETCD_MEMBER: &str = "EtcdMemberHealthy";
/// What a health check's message begins with.
const FAILED: &str = "Health check failed:";

/// The conditions that are repeated.
pub const REPEATED: [&str; 7] =
    [HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, PODS[0], PODS[1], PODS[2], PODS[3], ETCD_MEMBER];

/// Returns the v1beta1 form of a condition that another controller set on a Machine, as Cluster API 1.14 writes it; `None` if the Machine
/// has none.
pub fn repeated(machine: &Machine, type_: &str) -> Option<V1Beta1Condition> {
    let condition = machine.condition(type_)?;
    if condition.status == TRUE {
        return Some(is_true(type_));
    }
    match type_ {
        HEALTH_CHECK_SUCCEEDED => Some(health_check(condition)),
        OWNER_REMEDIATED => Some(remediated(condition)),
        _ => component(machine, condition),
    }
}

fn health_check(condition: &Condition) -> V1Beta1Condition {
    let reason = match condition.reason.as_str() {
        "HasRemediateAnnotation" => "HasRemediateMachineAnnotation",
        "NodeDeleted" => "NodeNotFound",
        other => other,
    };
    let text = condition.message.strip_prefix(FAILED).unwrap_or(&condition.message);
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("* "))
        .filter(|line| !line.is_empty())
        .collect();
    is_false(HEALTH_CHECK_SUCCEEDED, Severity::Warning, reason, lines.join(", "))
}

fn remediated(condition: &Condition) -> V1Beta1Condition {
    let of = |severity, reason, message: &str| is_false(OWNER_REMEDIATED, severity, reason, message);
    match condition.reason.as_str() {
        "WaitingForRemediation" => of(Severity::Warning, "WaitingForRemediation", ""),
        "MachineDeleting" => of(Severity::Warning, "RemediationInProgress", ""),
        "InternalError" => of(Severity::Error, "RemediationFailed", &condition.message),
        _ => of(Severity::Warning, "WaitingForRemediation", &condition.message),
    }
}

/// Returns the condition about a control plane component; `None` while the Machine has no Node, where it cannot exist.
fn component(machine: &Machine, condition: &Condition) -> Option<V1Beta1Condition> {
    let type_ = condition.type_.as_str();
    let is_etcd = type_ == ETCD_MEMBER;
    let of = |severity, reason| Some(is_false(type_, severity, reason, condition.message.as_str()));
    match condition.reason.as_str() {
        "Deleting" => Some(is_false(type_, Severity::Info, "Deleting", "")),
        "Provisioning" => of(Severity::Info, "PodProvisioning"),
        "DoesNotExist" => of(Severity::Error, "PodMissing"),
        "Failed" => of(Severity::Error, "PodFailed"),
        "NotHealthy" if is_etcd => of(Severity::Error, "EtcdMemberUnhealthy"),
        _ => {
            machine.status.as_ref()?.node_ref.as_ref()?;
            let reason = if is_etcd { "MemberInspectionFailed" } else { "PodInspectionFailed" };
            Some(is_unknown(type_, reason, condition.message.as_str()))
        }
    }
}

/// Returns `MachinesReady`: it repeats the `Ready` condition that matters most, with the name of its Machine and the number of ready ones.
pub fn machines_ready<M: Borrow<Machine>>(machines: &[M]) -> V1Beta1Condition {
    const TYPE: &str = "MachinesReady";
    let mut conditions: Vec<(&str, V1Beta1Condition)> = machines
        .iter()
        .map(<M as Borrow<Machine>>::borrow)
        .filter_map(|machine| Some((machine.metadata.name.as_deref().unwrap_or_default(), ready(machine)?)))
        .collect();
    conditions.sort_by_key(|(name, condition)| (rank(condition), *name));
    let ready = conditions.iter().filter(|(_, condition)| condition.status == TRUE).count();
    match conditions.into_iter().next().filter(|(_, condition)| condition.status != TRUE) {
        None => is_true(TYPE),
        Some((name, condition)) => V1Beta1Condition {
            type_: TYPE.to_owned(),
            reason: condition.reason.map(|reason| format!("{reason} @ Machine/{name}")),
            message: Some(format!("{ready} of {} completed", machines.len())),
            ..condition
        },
    }
}

/// Returns the Machine's `Ready` condition; one without severity if the Machine has none for older clients.
fn ready(machine: &Machine) -> Option<V1Beta1Condition> {
    let deprecated = machine.status.as_ref().and_then(|status| status.deprecated.as_ref()?.v1beta1.as_ref());
    let mut older = deprecated.into_iter().flat_map(|deprecated| &deprecated.conditions);
    if let Some(ready) = older.find(|condition| condition.type_ == READY) {
        return Some(ready.clone());
    }
    let ready = machine.condition(READY)?;
    let mut condition = is_true(READY);
    if ready.status != TRUE {
        condition.status.clone_from(&ready.status);
        condition.reason = Some(ready.reason.clone());
    }
    Some(condition)
}
