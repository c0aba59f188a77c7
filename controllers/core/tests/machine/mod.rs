//! What a Machine sets on its Node, and its status.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod node;
mod older;
mod pod_watches;
mod status;
mod taints;
mod update;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::machine::{self, NodeState, Observed, OnDemand};
use engine::{ExternalObject, Health};
use k8s_openapi::api::core::v1::Node;
use kube::core::ApiResource;
use schemas::cluster::Machine;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn infrastructure(status: Value) -> Reference {
    let object = json!({"apiVersion": "test/v1", "kind": "Infra", "metadata": {"name": "m", "namespace": "default"},
        "spec": {"providerID": "id"}, "status": status});
    let resource = ApiResource {
        group: "test".into(),
        version: "v1".into(),
        api_version: "test/v1".into(),
        kind: "Infra".into(),
        plural: "infras".into(),
    };
    Reference::Found(ExternalObject { object: read(object), resource, contract: "v1beta2" })
}

/// Returns a running worker and its Node.
fn running(metadata: Value, spec: Value, node: Value) -> Observed {
    let mut machine = json!({
        "metadata": {"name": "m", "namespace": "default", "uid": "m"},
        "spec": {"clusterName": "c", "providerID": "id", "bootstrap": {"dataSecretName": "s"},
            "infrastructureRef": {"apiGroup": "test", "kind": "Infra", "name": "m"}},
        "status": {"nodeRef": {"name": "m"}},
    });
    for (part, more) in [("metadata", metadata), ("spec", spec)] {
        machine[part].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    Observed {
        machine: read::<Machine>(machine),
        cluster: read(json!({"metadata": {"name": "c", "namespace": "default", "uid": "c"}})),
        set: None,
        deployment: None,
        bootstrap: Reference::None,
        data_secret_problem: None,
        infrastructure: infrastructure(json!({"initialization": {"provisioned": true}})),
        node: NodeState::Found(read(node)),
        propagates_taints: true,
        health: Health::default(),
        control_plane: Reference::None,
        has_control_plane_machines: true,
        drain_rules: Vec::new(),
        pods: OnDemand::NotRead,
        evictions: BTreeMap::new(),
        volumes: OnDemand::NotRead,
        node_deletion_since: None,
        updates_in_place: true,
        last_update: None,
        now: machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap(),
    }
}

fn bare() -> Value {
    json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}})
}

/// Returns the Node after the plan.
fn node(observed: &Observed) -> Node {
    let plan = machine::plan(observed);
    plan.node.unwrap_or_else(|| observed.node.found().unwrap().as_ref().clone())
}

fn annotation<'a>(node: &'a Node, name: &str) -> Option<&'a str> {
    engine::object::annotation(node, &format!("cluster.x-k8s.io/{name}"))
}
