//! The counters and conditions of a KubeadmControlPlane for clients of the API version v1beta1. Pure functions.

use chrono::{DateTime, Utc};
use engine::conditions::{FALSE, TRUE};
use engine::object::is_deleting;
use engine::v1beta1::machines::{ETCD_MEMBER, machines_ready, repeated};
use engine::v1beta1::{self, Severity, is_false, is_true, is_unknown, summary};
use k8s_openapi::api::core::v1::Node;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::controlplane::{KubeadmControlPlane, KubeadmControlPlaneV1Beta1DeprecatedStatus};
use schemas::meta::V1Beta1Condition;

use super::observed::{component_conditions, node_name};
use super::status::Inputs;
use crate::names::condition;

const MACHINES_CREATED: &str = "MachinesCreated";
const MACHINES_SPEC_UP_TO_DATE: &str = "MachinesSpecUpToDate";
const RESIZED: &str = "Resized";
/// The conditions that `Ready` sums up.
const SUMMARIZED: [&str; 6] = [
    MACHINES_CREATED,
    MACHINES_SPEC_UP_TO_DATE,
    RESIZED,
    condition::MACHINES_READY,
    condition::AVAILABLE,
    condition::CERTIFICATES_AVAILABLE,
];

/// Sets the counters and conditions. `control_plane` has the rest of its status.
pub(super) fn set(control_plane: &mut KubeadmControlPlane, inputs: &Inputs<'_>) {
    counters(control_plane, inputs);
    let mut all = vec![
        certificates(control_plane),
        available(inputs),
        machines_created(inputs),
        resized(control_plane, inputs),
        up_to_date(control_plane, inputs),
        components(control_plane, inputs),
        etcd(control_plane, inputs),
    ];
    if !inputs.machines.is_empty() {
        all.push(Some(machines_ready(inputs.machines)));
    }
    let conditions = &mut deprecated(control_plane).conditions;
    for condition in all.into_iter().flatten() {
        v1beta1::set(conditions, inputs.now, condition);
    }
    summarize(control_plane, inputs.now);
}

/// Records in `MachinesCreated` that no Machine could be created.
pub(super) fn report(control_plane: &mut KubeadmControlPlane, errors: &[&engine::Error], now: DateTime<Utc>) {
    if !control_plane.condition_is_true(condition::SCALING_UP) {
        return;
    }
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let failed = is_false(MACHINES_CREATED, Severity::Error, "MachineGenerationFailed", messages.join(", "));
    v1beta1::set(&mut deprecated(control_plane).conditions, now, failed);
    summarize(control_plane, now);
}

fn summarize(control_plane: &mut KubeadmControlPlane, now: DateTime<Utc>) {
    let conditions = &mut deprecated(control_plane).conditions;
    if let Some(ready) = summary(conditions, &SUMMARIZED) {
        v1beta1::set(conditions, now, ready);
    }
}

fn deprecated(control_plane: &mut KubeadmControlPlane) -> &mut KubeadmControlPlaneV1Beta1DeprecatedStatus {
    let status = control_plane.status.get_or_insert_default();
    status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default()
}

/// Sets the counters. The number of ready Nodes stays while the workload cluster cannot be read.
fn counters(control_plane: &mut KubeadmControlPlane, inputs: &Inputs<'_>) {
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let ready = inputs.observed.workload.as_ref().map(|view| {
        let nodes = inputs.machines.iter().filter_map(|machine| view.nodes.get(node_name(machine)?));
        number(nodes.filter(|node| is_ready(node)).count())
    });
    let updated = inputs.machines.iter().filter(|machine| machine.condition_is_true(condition::UP_TO_DATE));
    let (updated, replicas) = (number(updated.count()), number(inputs.machines.len()));
    let status = deprecated(control_plane);
    let ready = ready.or(status.ready_replicas).unwrap_or(0).min(replicas);
    status.ready_replicas = Some(ready);
    status.unavailable_replicas = Some(replicas - ready);
    status.updated_replicas = Some(updated);
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == TRUE)
}

fn certificates(control_plane: &KubeadmControlPlane) -> Option<V1Beta1Condition> {
    const TYPE: &str = condition::CERTIFICATES_AVAILABLE;
    let found = control_plane.condition(TYPE)?;
    Some(if found.status == TRUE {
        is_true(TYPE)
    } else {
        is_false(TYPE, Severity::Warning, "CertificatesGenerationFailed", found.message.as_str())
    })
}

/// Returns `Available`: true since `kubeadm init` has finished.
fn available(inputs: &Inputs<'_>) -> Option<V1Beta1Condition> {
    let waits = || is_false(condition::AVAILABLE, Severity::Info, "WaitingForKubeadmInit", "");
    Some(if inputs.observed.is_initialized() { is_true(condition::AVAILABLE) } else { waits() })
}

/// Returns `MachinesCreated`, which [`report`] makes false.
fn machines_created(inputs: &Inputs<'_>) -> Option<V1Beta1Condition> {
    let is_enough = inputs.machines.len() >= inputs.observed.desired_replicas();
    is_enough.then(|| is_true(MACHINES_CREATED))
}

/// Returns `Resized`, which stays as it is until all Machines are ready after a change of their number.
fn resized(control_plane: &KubeadmControlPlane, inputs: &Inputs<'_>) -> Option<V1Beta1Condition> {
    if is_deleting(control_plane) {
        return Some(is_false(RESIZED, Severity::Info, "Deleting", ""));
    }
    let (current, desired) = (inputs.machines.len(), inputs.observed.desired_replicas());
    let (reason, direction) = match current.cmp(&desired) {
        std::cmp::Ordering::Less => ("ScalingUp", "up"),
        std::cmp::Ordering::Greater => ("ScalingDown", "down"),
        std::cmp::Ordering::Equal => {
            let are_ready = inputs.machines.iter().all(|machine| machine.condition_is_true(condition::READY));
            return are_ready.then(|| is_true(RESIZED));
        }
    };
    let message = format!("Scaling {direction} control plane to {desired} replicas (actual {current})");
    Some(is_false(RESIZED, Severity::Warning, reason, message))
}

/// Returns `MachinesSpecUpToDate`, which a control plane has since its first rollout.
fn up_to_date(control_plane: &KubeadmControlPlane, inputs: &Inputs<'_>) -> Option<V1Beta1Condition> {
    const TYPE: &str = MACHINES_SPEC_UP_TO_DATE;
    let count = inputs.outdated.len();
    if count > 0 {
        let others = inputs.machines.len().saturating_sub(count);
        let message = format!("Rolling {count} replicas with outdated spec ({others} replicas up to date)");
        return Some(is_false(TYPE, Severity::Warning, "RollingUpdateInProgress", message));
    }
    let status = control_plane.status.as_ref()?.deprecated.as_ref()?.v1beta1.as_ref()?;
    status.conditions.iter().any(|found| found.type_ == TYPE).then(|| is_true(TYPE))
}

fn components(control_plane: &KubeadmControlPlane, inputs: &Inputs<'_>) -> Option<V1Beta1Condition> {
    let types = component_conditions(inputs.observed.is_etcd_managed());
    let reasons = ("ControlPlaneComponentsUnhealthy", "ControlPlaneComponentsUnknown");
    of_machines(control_plane, inputs, condition::COMPONENTS_HEALTHY, &types, "control plane", reasons)
}

fn etcd(control_plane: &KubeadmControlPlane, inputs: &Inputs<'_>) -> Option<V1Beta1Condition> {
    if !inputs.observed.is_etcd_managed() {
        return Some(is_true(condition::ETCD_CLUSTER_HEALTHY));
    }
    let reasons = ("EtcdClusterUnhealthy", "EtcdClusterUnknown");
    let types = [ETCD_MEMBER];
    of_machines(control_plane, inputs, condition::ETCD_CLUSTER_HEALTHY, &types, "etcd member", reasons)
}

/// Sums up conditions of the Machines: errors, then warnings, then what is only information, then what is not known. If there is none, the
/// control plane's own condition counts. `None` before there is anything to say.
fn of_machines(
    control_plane: &KubeadmControlPlane,
    inputs: &Inputs<'_>,
    target: &str,
    types: &[&str],
    of: &str,
    (unhealthy, unknown): (&str, &str),
) -> Option<V1Beta1Condition> {
    let worst = |machine: &Machine| {
        types.iter().filter_map(|type_| repeated(machine, type_)).map(|found| found_rank(&found)).min()
    };
    let ranked: Vec<(u8, &str)> = inputs
        .machines
        .iter()
        .filter_map(|machine| Some((worst(machine)?, machine.metadata.name.as_deref().unwrap_or_default())))
        .collect();
    let own = control_plane.condition(target);
    let first = ranked.iter().map(|(rank, _)| *rank).min()?;
    let names: Vec<&str> = ranked.iter().filter(|(rank, _)| *rank == first).map(|(_, name)| *name).collect();
    let names = names.join(", ");
    let wrong = |severity, what: &str| {
        let message = format!("Following Machines are reporting {of} {what}: {names}");
        Some(is_false(target, severity, unhealthy, message))
    };
    match first {
        0 => wrong(Severity::Error, "errors"),
        1 => wrong(Severity::Warning, "warnings"),
        2 => wrong(Severity::Info, "info"),
        3 => {
            let message = format!("Following Machines are reporting unknown {of} status: {names}");
            Some(is_unknown(target, unknown, message))
        }
        _ => match own {
            Some(own) if own.status == FALSE => {
                Some(is_false(target, Severity::Error, unhealthy, own.message.as_str()))
            }
            Some(own) if own.status != TRUE => Some(is_unknown(target, unknown, own.message.as_str())),
            _ => Some(is_true(target)),
        },
    }
}

/// Orders what Machines report: unlike in a summary, what is not known comes before what is well.
fn found_rank(found: &V1Beta1Condition) -> u8 {
    match (found.status.as_str(), found.severity.as_deref()) {
        (FALSE, Some("Error")) => 0,
        (FALSE, Some("Warning")) => 1,
        (FALSE, _) => 2,
        (TRUE, _) => 4,
        _ => 3,
    }
}
