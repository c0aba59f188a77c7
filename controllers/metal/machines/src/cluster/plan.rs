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
pub(super) struct Observed {
    /// The Metal3Cluster.
    pub object: Arc<Metal3Cluster>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// Whether the Cluster has Machines.
    pub has_machines: bool,
}

/// Returns the wanted Metal3Cluster.
pub(super) fn plan(observed: &Observed, now: DateTime<Utc>) -> Metal3Cluster {
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

#[cfg(test)]
mod tests {
    use schemas::HasConditions;
    use schemas::meta::ApiEndpoint;

    use super::*;

    fn observed(host: Option<&str>, port: Option<i32>) -> Observed {
        let mut object = Metal3Cluster::default();
        finalizer::add(&mut object, CLUSTER_FINALIZER);
        object.spec.control_plane_endpoint = Some(ApiEndpoint { host: host.map(str::to_owned), port });
        Observed { object: Arc::new(object), cluster: Arc::default(), has_machines: true }
    }

    #[test]
    fn a_complete_endpoint_is_all_that_a_cluster_needs() {
        let cases = [
            (Some("192.0.2.10"), Some(6443), None),
            (Some("192.0.2.10"), None, Some("port")),
            (Some(""), Some(6443), Some("host")),
            (None, Some(6443), Some("host")),
        ];
        for (host, port, missing) in cases {
            let wanted = plan(&observed(host, port), DateTime::UNIX_EPOCH);
            let status = wanted.status.clone().unwrap();
            assert_eq!(
                status.initialization.unwrap().provisioned,
                Some(missing.is_none()),
                "{host:?} {port:?}"
            );
            assert_eq!(wanted.condition_is_true("Ready"), missing.is_none());
            assert_eq!(status.deprecated.is_some(), missing.is_some());
            if let Some(field) = missing {
                let message = &wanted.condition("BaremetalInfrastructureReady").unwrap().message;
                assert!(message.starts_with(&format!("spec.controlPlaneEndpoint.{field} ")), "{message}");
            }
        }
    }

    #[test]
    fn it_goes_after_its_machines() {
        for (has_machines, stays) in [(true, true), (false, false)] {
            let mut observed = observed(Some("192.0.2.10"), Some(6443));
            observed.has_machines = has_machines;
            let mut object = observed.object.as_ref().clone();
            object.metadata.deletion_timestamp =
                serde_json::from_value("2026-01-01T00:00:00Z".into()).unwrap();
            observed.object = Arc::new(object);
            let wanted = plan(&observed, DateTime::UNIX_EPOCH);
            assert_eq!(finalizer::has(&wanted, CLUSTER_FINALIZER), stays);
        }
    }
}
