//! The rules of Clusters, as tables over `plan`. `deletion.rs` has the order of their deletion.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

mod conditions;
mod counters;
mod progress;
mod sums;

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::cluster::Observed;
use engine::Health;
use schemas::FromJson;
use serde_json::{Value, json};

use crate::core::machine_set::{CORE, external, now, parse};

/// A Cluster whose control plane and infrastructure are provisioned.
pub fn cluster() -> Value {
    let reference = |kind: &str| json!({"apiGroup": "test", "kind": kind, "name": "t"});
    json!({
        "metadata": {"name": "plain", "namespace": "default", "uid": "plain", "generation": 2},
        "spec": {"infrastructureRef": reference("Infra"), "controlPlaneRef": reference("Plane"),
            "controlPlaneEndpoint": {"host": "h", "port": 6443}},
        "status": {"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}, "conditions": []},
    })
}

/// An object of the Cluster, owned and labelled as it has to be.
pub fn object(kind: &str, more: Value) -> Reference {
    let mut changes = json!({"/metadata/labels": {"cluster.x-k8s.io/cluster-name": "plain"},
        "/status/initialization": {"provisioned": true, "controlPlaneInitialized": true}});
    changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Reference::Found(external("test", kind, changes))
}

/// A child of the Cluster, which owns it.
pub fn child<T: FromJson>(name: &str, spec: Value, status: Value) -> Arc<T> {
    let owner = json!([{"apiVersion": CORE, "kind": "Cluster", "name": "plain", "uid": "plain"}]);
    parse(&json!({"metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": owner},
        "spec": spec, "status": status}))
}

pub fn observed(cluster: &Value) -> Observed {
    Observed {
        cluster: parse(cluster),
        infrastructure: object("Infra", json!({})),
        control_plane: object("Plane", json!({})),
        control_plane_machines: Vec::new(),
        worker_machines: Vec::new(),
        deployments: Vec::new(),
        sets: Vec::new(),
        pools: Vec::new(),
        class: None,
        features: Default::default(),
        health: Health { connected: true, last_success: Some(now()), failures: 0 },
        connection_problem: None,
        has_kubeconfig: true,
        authority: None,
        now: now(),
    }
}
