//! Tests of `cluster::plan`.

use std::sync::Arc;

use chrono::DateTime;
use engine::finalizer;
use metal_machines::cluster::plan::{Observed, plan};
use metal_machines::names::CLUSTER_FINALIZER;
use schemas::HasConditions;
use schemas::infrastructure::Metal3Cluster;
use schemas::meta::ApiEndpoint;

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
        assert_eq!(status.initialization.unwrap().provisioned, Some(missing.is_none()), "{host:?} {port:?}");
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
        object.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).unwrap();
        observed.object = Arc::new(object);
        let wanted = plan(&observed, DateTime::UNIX_EPOCH);
        assert_eq!(finalizer::has(&wanted, CLUSTER_FINALIZER), stays);
    }
}
