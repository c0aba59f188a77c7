//! The plan of a Metal3Cluster: its new status (`contract/metal3`, §2.4). Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{conditions, finalizer, paused};
use schemas::cluster::Cluster;
use schemas::infrastructure::{
    Metal3Cluster, Metal3ClusterDeprecatedStatus, Metal3ClusterV1Beta1DeprecatedStatus,
};

use crate::names::CLUSTER_FINALIZER;

/// Conditions that this controller owns.
pub(super) const OWNED: &[&str] = &["Ready", "BaremetalInfrastructureReady", "Paused"];

/// The state on which the plan of a Metal3Cluster depends.
pub struct Observed {
    /// The Metal3Cluster.
    pub object: Arc<Metal3Cluster>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// Whether the Cluster has Machines.
    pub has_machines: bool,
}

/// Returns the wanted Metal3Cluster.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Metal3Cluster {
    let mut wanted = observed.object.as_ref().clone();
    paused::set(&mut wanted, Some(&observed.cluster), now);
    if is_deleting(&wanted) {
        if !observed.has_machines {
            finalizer::remove(&mut wanted, CLUSTER_FINALIZER);
        }
        return wanted;
    }
    let failure_domains = wanted.spec.failure_domains.clone();
    let missing = missing_endpoint(&wanted);
    let status = wanted.status.get_or_insert_default();
    status.failure_domains = failure_domains;
    status.initialization.get_or_insert_default().provisioned = Some(missing.is_none());
    status.deprecated = missing.clone().map(failure);
    let (endpoint, ready) = match missing {
        None => (
            conditions::is_true("BaremetalInfrastructureReady", "Ready"),
            conditions::is_true("Ready", "Ready"),
        ),
        Some(message) => (
            conditions::is_false(
                "BaremetalInfrastructureReady",
                "ControlPlaneEndpointFailed",
                message.as_str(),
            ),
            conditions::is_false("Ready", "NotReady", message),
        ),
    };
    conditions::set(&mut wanted, now, endpoint);
    conditions::set(&mut wanted, now, ready);
    wanted
}

/// Returns what the endpoint lacks; `None` if it is complete.
fn missing_endpoint(object: &Metal3Cluster) -> Option<String> {
    let endpoint = object.spec.control_plane_endpoint.as_ref();
    let has_host =
        endpoint.and_then(|endpoint| endpoint.host.as_deref()).is_some_and(|host| !host.is_empty());
    let has_port = endpoint.and_then(|endpoint| endpoint.port).is_some_and(|port| port != 0);
    let field = match (has_host, has_port) {
        (true, true) => return None,
        (false, _) => "host",
        (true, false) => "port",
    };
    Some(format!(
        "spec.controlPlaneEndpoint.{field} is not set: write the virtual IP of the control plane, or the address of its only machine"
    ))
}

fn failure(message: String) -> Metal3ClusterDeprecatedStatus {
    Metal3ClusterDeprecatedStatus {
        v1beta1: Some(Metal3ClusterV1Beta1DeprecatedStatus {
            failure_reason: Some("InvalidConfiguration".to_owned()),
            failure_message: Some(message),
            ..Default::default()
        }),
    }
}
