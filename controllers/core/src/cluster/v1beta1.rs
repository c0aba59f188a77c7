//! The conditions of a Cluster for clients of the API version v1beta1.

use engine::ExternalObject;
use engine::conditions::TRUE;
use engine::initialization::has_control_plane;
use engine::object::is_deleting;
use engine::v1beta1::{self, Severity, has, is_false, is_true, mirror, summary};
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::meta::V1Beta1Condition;

use super::observed::Observed;
use super::progress::{is_control_plane_initialized, is_infrastructure_provisioned};
use crate::change::Reference;

const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
const CONTROL_PLANE_READY: &str = "ControlPlaneReady";
const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
const TOPOLOGY_RECONCILED: &str = "TopologyReconciled";

/// Sets these conditions. `cluster` has the rest of its wanted status.
pub fn set(cluster: &mut Cluster, observed: &Observed) {
    let before = conditions(cluster).clone();
    let mut all: Vec<V1Beta1Condition> = Vec::new();
    all.extend(infrastructure_ready(cluster, observed));
    all.extend(control_plane_ready(cluster, observed));
    if !has(&before, CONTROL_PLANE_INITIALIZED) {
        all.extend(control_plane_initialized(cluster, observed));
    }
    all.extend(topology_reconciled(cluster));
    let conditions = conditions(cluster);
    for condition in all {
        v1beta1::set(conditions, observed.now, condition);
    }
    if let Some(ready) =
        summary(conditions, &[CONTROL_PLANE_READY, INFRASTRUCTURE_READY, TOPOLOGY_RECONCILED])
    {
        v1beta1::set(conditions, observed.now, ready);
    }
}

fn conditions(cluster: &mut Cluster) -> &mut Vec<V1Beta1Condition> {
    let deprecated = cluster.status.get_or_insert_default().deprecated.get_or_insert_default();
    &mut deprecated.v1beta1.get_or_insert_default().conditions
}

/// Repeats what the controller of topologies reports.
fn topology_reconciled(cluster: &Cluster) -> Option<V1Beta1Condition> {
    let condition = cluster.condition(TOPOLOGY_RECONCILED)?;
    if condition.status == TRUE {
        return Some(is_true(TOPOLOGY_RECONCILED));
    }
    let (severity, reason) = match condition.reason.as_str() {
        "ReconcileFailed" => (Severity::Error, "TopologyReconcileFailed"),
        other => (Severity::Info, other),
    };
    Some(is_false(TOPOLOGY_RECONCILED, severity, reason, condition.message.as_str()))
}

fn infrastructure_ready(cluster: &Cluster, observed: &Observed) -> Option<V1Beta1Condition> {
    match &observed.infrastructure {
        Reference::None if is_deleting(cluster) || cluster.spec.topology.is_some() => None,
        Reference::None => Some(is_true(INFRASTRUCTURE_READY)),
        reference => {
            let is_ready = is_infrastructure_provisioned;
            of_reference(cluster, INFRASTRUCTURE_READY, reference, is_ready, "WaitingForInfrastructure")
        }
    }
}

fn control_plane_ready(cluster: &Cluster, observed: &Observed) -> Option<V1Beta1Condition> {
    let (reference, is_ready) = (&observed.control_plane, is_control_plane_initialized);
    of_reference(cluster, CONTROL_PLANE_READY, reference, is_ready, "WaitingForControlPlane")
}

/// Returns the condition about an object of a provider; `None` if the condition stays as it is.
fn of_reference(
    cluster: &Cluster,
    target: &str,
    reference: &Reference,
    is_ready: fn(&ExternalObject) -> bool,
    waiting: &str,
) -> Option<V1Beta1Condition> {
    match reference {
        Reference::Found(object) if is_deleting(cluster) => Some(mirror(target, object, false, "Deleting")),
        Reference::Found(object) => Some(mirror(target, object, is_ready(object), waiting)),
        Reference::NotFound if is_deleting(cluster) => Some(is_false(target, Severity::Info, "Deleted", "")),
        Reference::NotFound | Reference::Failed(_) | Reference::None => None,
    }
}

fn control_plane_initialized(cluster: &Cluster, observed: &Observed) -> Option<V1Beta1Condition> {
    const TYPE: &str = CONTROL_PLANE_INITIALIZED;
    let (reason, message) = match &observed.control_plane {
        Reference::None if cluster.spec.topology.is_some() => return None,
        Reference::None => {
            ("MissingNodeRef", "Waiting for the first control plane machine to have its status.nodeRef set")
        }
        Reference::Found(_) => (
            "WaitingForControlPlaneProviderInitialized",
            "Waiting for control plane provider to indicate the control plane has been initialized",
        ),
        Reference::NotFound | Reference::Failed(_) => return None,
    };
    Some(if has_control_plane(cluster) {
        is_true(TYPE)
    } else {
        is_false(TYPE, Severity::Info, reason, message)
    })
}
