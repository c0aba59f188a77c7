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

/// Says what is wrong with the endpoint that an object reports: it is another one than the Cluster has, which never changes, because
/// certificates and kubeconfigs name it, or half of it is missing although the object has all that it was to make (`is_complete`).
pub(super) fn endpoint_problem(
    cluster: &Cluster,
    object: &ExternalObject,
    is_complete: bool,
) -> Option<String> {
    let problem = if has_endpoint(cluster) {
        other_endpoint(cluster, object)
    } else {
        half_endpoint(object).filter(|_| is_complete)
    };
    Some(contract::line(object, &problem?))
}

fn other_endpoint(cluster: &Cluster, object: &ExternalObject) -> Option<String> {
    let own = cluster.spec.control_plane_endpoint.as_ref()?;
    let own = (own.host.as_deref().unwrap_or_default(), own.port.unwrap_or_default());
    let (host, port) = endpoint(object).filter(|reported| *reported != own)?;
    Some(format!(
        "spec.controlPlaneEndpoint is {host}:{port}, but the Cluster has {}:{}, which cannot change",
        own.0, own.1
    ))
}

fn half_endpoint(object: &ExternalObject) -> Option<String> {
    if [contract::ENDPOINT_HOST, contract::ENDPOINT_PORT].iter().any(|field| field.problem(object).is_some())
    {
        return None;
    }
    let host = contract::ENDPOINT_HOST.read_text(object).filter(|host| !host.is_empty());
    let (has, lacks) = match (host, contract::endpoint_port(object)) {
        (Some(_), None) => ("host", "port"),
        (None, Some(_)) => ("port", "host"),
        _ => return None,
    };
    Some(format!("spec.controlPlaneEndpoint has a {has} and no {lacks}: the Cluster waits for both"))
}

/// Returns host and port of the endpoint that an object reports.
pub(super) fn endpoint(object: &ExternalObject) -> Option<(&str, i32)> {
    Some((contract::ENDPOINT_HOST.read_text(object)?, contract::endpoint_port(object)?))
}
