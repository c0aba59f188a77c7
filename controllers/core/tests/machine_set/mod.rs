//! The rules of MachineSets, as tables over `plan`.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

mod adoption;
mod creation;
mod failure;
mod in_place;
mod preflight;
mod priority;
mod status;
mod sync;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_core::Reference;
use cluster_core::machine_set::{Observed, Plan};
use engine::ExternalObject;
use engine::steps::{Apply, Delete, Patch};
use kube::core::ApiResource;
use schemas::FromJson;
use schemas::cluster::Machine;
use serde_json::{Value, json};

pub const CORE: &str = "cluster.x-k8s.io/v1beta2";
pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

pub fn parse<T: FromJson>(value: &Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

pub fn now() -> DateTime<Utc> {
    machinery::clock::parse_rfc3339("2026-11-21T01:00:00Z").unwrap()
}

/// Changes fields by JSON pointer; the parent must exist.
pub fn with(mut object: Value, changes: Value) -> Value {
    for (pointer, value) in changes.as_object().unwrap() {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value.clone();
    }
    object
}

pub fn external(group: &str, kind: &str, more: Value) -> ExternalObject {
    let api_version = format!("{group}/v1beta2");
    let object = with(
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": "t", "namespace": "default", "uid": "t", "annotations": {},
                "ownerReferences": [{"apiVersion": CORE, "kind": "Cluster", "name": "plain", "uid": "plain"}]},
            "spec": {"template": {"spec": {}}}, "status": {}}),
        more,
    );
    let plural = engine::contract::plural(kind);
    let (group, version) = (group.to_owned(), "v1beta2".to_owned());
    let resource = ApiResource { group, version, api_version, kind: kind.to_owned(), plural };
    ExternalObject { object: parse(&object), resource, contract: "v1beta2" }
}

pub fn bootstrap(more: Value) -> Reference {
    Reference::Found(external("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", more))
}

pub fn infrastructure() -> Reference {
    Reference::Found(external("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", json!({})))
}

/// A MachineSet of a Cluster, with two labels and an annotation in its template.
pub fn set() -> Value {
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": "t"});
    json!({
        "metadata": {"name": "set", "namespace": "default", "uid": "set", "generation": 3, "annotations": {},
            "labels": {CLUSTER_NAME: "plain"}},
        "spec": {"clusterName": "plain", "replicas": 1,
            "selector": {"matchLabels": {"pool": "a", CLUSTER_NAME: "plain"}},
            "template": {"metadata": {"labels": {"pool": "a", CLUSTER_NAME: "plain"}, "annotations": {"note": "x"}},
                "spec": {"clusterName": "plain", "version": "v1.36.0",
                    "bootstrap": {"configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate")},
                    "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "DevMachineTemplate")}}},
    })
}

/// A Machine of the MachineSet.
pub fn machine(name: &str, more: Value) -> Arc<Machine> {
    parse(&with(
        json!({
            "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"pool": "a"}, "annotations": {},
                "creationTimestamp": "2026-11-21T00:00:00Z", "ownerReferences": [
                    {"apiVersion": CORE, "kind": "MachineSet", "name": "set", "uid": "set", "controller": true}]},
            "spec": {"clusterName": "plain", "version": "v1.35.0", "failureDomain": "fd",
                "bootstrap": {"configRef": {"apiGroup": "b", "kind": "Config", "name": name}},
                "infrastructureRef": {"apiGroup": "i", "kind": "Infra", "name": name}},
            "status": {"nodeRef": {"name": name}, "conditions": []},
        }),
        more,
    ))
}

pub fn observed(set: &Value, machines: Vec<Arc<Machine>>) -> Observed {
    Observed {
        set: parse(set),
        cluster: parse(&json!({"metadata": {"name": "plain", "namespace": "default", "uid": "plain"}})),
        deployment: None,
        machines,
        bootstrap: bootstrap(json!({})),
        infrastructure: infrastructure(),
        control_plane: Reference::None,
        target: None,
        parts: Vec::new(),
        features: Default::default(),
        suffixes: vec!["aaaaa".to_owned()],
        now: now(),
    }
}

/// The Machines that are applied, as they are wanted.
pub fn applied(plan: &Plan) -> Vec<&Machine> {
    plan.steps.of::<Apply<Machine>>().map(|apply| &apply.wanted).collect()
}

/// The Machines that are patched, as they are wanted.
pub fn patched(plan: &Plan) -> Vec<&Machine> {
    plan.steps.of::<Patch<Machine>>().map(|patch| &patch.wanted).collect()
}

/// The names of the Machines that are deleted.
pub fn deleted(plan: &Plan) -> Vec<&str> {
    plan.steps.of::<Delete<Machine>>().map(|delete| delete.read.metadata.name.as_deref().unwrap()).collect()
}

/// A MachineDeployment controls the set.
pub fn of_deployment() -> Value {
    json!({"/metadata/ownerReferences": [
        {"apiVersion": CORE, "kind": "MachineDeployment", "name": "md", "uid": "md", "controller": true}]})
}
