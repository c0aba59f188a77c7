//! What a Cluster and the objects that it refers to say of its progress.

use engine::ExternalObject;
use schemas::cluster::Cluster;

use crate::contract;

/// Returns whether the control plane's endpoint is known.
pub(super) fn has_endpoint(cluster: &Cluster) -> bool {
    let endpoint = cluster.spec.control_plane_endpoint.as_ref();
    endpoint.is_some_and(|endpoint| {
        endpoint.host.as_ref().is_some_and(|host| !host.is_empty())
            && endpoint.port.is_some_and(|port| port != 0)
    })
}

/// Returns whether the infrastructure object says that it is provisioned.
pub(super) fn is_infrastructure_provisioned(object: &ExternalObject) -> bool {
    is_true_by_contract(object, "/status/initialization/provisioned", "/status/ready")
}

/// Returns whether the control plane object says that the control plane is initialized.
pub(super) fn is_control_plane_initialized(object: &ExternalObject) -> bool {
    is_true_by_contract(object, "/status/initialization/controlPlaneInitialized", "/status/initialized")
}

fn is_true_by_contract(object: &ExternalObject, v1beta2: &str, v1beta1: &str) -> bool {
    object.is_true(if object.contract == "v1beta1" { v1beta1 } else { v1beta2 })
}

/// Says that the object reports another endpoint than the Cluster has, which never changes: certificates and kubeconfigs name it.
pub(super) fn other_endpoint(cluster: &Cluster, object: &ExternalObject) -> Option<String> {
    let own = cluster.spec.control_plane_endpoint.as_ref().filter(|_| has_endpoint(cluster))?;
    let own = (own.host.as_deref().unwrap_or_default(), own.port.unwrap_or_default());
    let (host, port) = endpoint(object).filter(|reported| *reported != own)?;
    let problem = format!(
        "spec.controlPlaneEndpoint is {host}:{port}, but the Cluster has {}:{}, which cannot change",
        own.0, own.1
    );
    Some(contract::line(object, &problem))
}

/// Returns host and port of the endpoint that an object reports.
pub(super) fn endpoint(object: &ExternalObject) -> Option<(&str, i32)> {
    Some((contract::ENDPOINT_HOST.read_text(object)?, contract::endpoint_port(object)?))
}
