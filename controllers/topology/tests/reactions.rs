//! Which changes of a Cluster a topology reacts to.

use std::sync::Arc;

use cluster_topology::cluster::matters;
use engine::Change;
use schemas::cluster::Cluster;
use serde_json::{Value, json};

fn with(change: &Value) -> Option<Arc<Cluster>> {
    let mut cluster = json!({
        "metadata": {"name": "demo", "namespace": "default", "resourceVersion": "5"},
        "spec": {"topology": {"version": "v1.34.0", "classRef": {"name": "small"}}},
        "status": {"conditions": [{"type": "TopologyReconciled", "status": "True", "reason": "", "message": ""}]},
    });
    merge(&mut cluster, change);
    Some(Arc::new(serde_json::from_value(cluster).unwrap()))
}

fn merge(into: &mut Value, change: &Value) {
    for (key, value) in change.as_object().into_iter().flatten() {
        if value.is_object() { merge(&mut into[key], value) } else { into[key] = value.clone() }
    }
}

#[test]
fn only_what_a_topology_depends_on_matters() {
    let conditions = |types: [&str; 2]| {
        let condition = |type_| json!({"type": type_, "status": "True", "reason": "", "message": ""});
        json!({"status": {"conditions": types.map(condition)}})
    };
    let table = [
        (json!({"metadata": {"resourceVersion": "6"}}), false),
        (json!({"status": {"workers": {"replicas": 3}, "phase": "Provisioned"}}), false),
        (json!({"metadata": {"annotations": {"a": "b"}}}), true),
        (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), true),
        (json!({"spec": {"topology": {"version": "v1.35.0"}}}), true),
        (json!({"spec": {"paused": true}}), true),
        (json!({"status": {"workers": {"upgradePlan": [{"version": "v1.35.0"}]}}}), true),
        (conditions(["TopologyReconciled", "Available"]), false),
        (conditions(["TopologyReconciled", "ControlPlaneInitialized"]), true),
        (conditions(["Available", "Ready"]), true),
    ];
    for (change, expected) in table {
        let of = |old, new| matters(&Change { old, new });
        assert_eq!(of(with(&json!({})), with(&change)), expected, "{change}");
        assert!(of(None, with(&change)) && of(with(&change), None), "{change}: it comes and goes");
    }
}
