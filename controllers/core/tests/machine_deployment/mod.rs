//! The rules of MachineDeployments: tables over `plan`, and their lives with a server.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

mod adoption;
mod events;
mod in_place;
mod lives;
mod model;
mod paused;
mod rollout;
mod sets;
mod status;
mod steps;

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::machine_deployment::{Observed, Plan};
use engine::steps::Apply;
use schemas::cluster::MachineSet;
use serde_json::{Value, json};

use crate::core::machine_set::{CLUSTER_NAME, CORE, now, parse, with};

pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
pub const HISTORY: &str = "machinedeployment.clusters.x-k8s.io/revision-history";
pub const DESIRED: &str = "machinedeployment.clusters.x-k8s.io/desired-replicas";
pub const MAXIMUM: &str = "machinedeployment.clusters.x-k8s.io/max-replicas";
pub const DISABLE: &str = "cluster.x-k8s.io/disable-machine-create";
pub const HASH: &str = "machine-template-hash";

fn template() -> Value {
    json!({"metadata": {"labels": {"pool": "a", CLUSTER_NAME: "plain"}, "annotations": {"note": "x"}},
        "spec": {"clusterName": "plain", "version": "v1.36.0",
            "bootstrap": {"configRef": {"apiGroup": "b", "kind": "ConfigTemplate", "name": "t"}},
            "infrastructureRef": {"apiGroup": "i", "kind": "InfraTemplate", "name": "t"}}})
}

/// A MachineDeployment of three replicas that may have one more during a rollout.
pub fn deployment() -> Value {
    json!({
        "metadata": {"name": "md", "namespace": "default", "uid": "md", "generation": 2, "annotations": {}},
        "spec": {"clusterName": "plain", "replicas": 3,
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
            "selector": {"matchLabels": {"pool": "a", CLUSTER_NAME: "plain"}},
            "template": template()},
    })
}

/// A MachineSet with these numbers of wanted, existing and available replicas. One of an old version has another template.
pub fn set(name: &str, minute: u32, replicas: (i32, i32, i32), more: Value) -> Arc<MachineSet> {
    let version = if name.starts_with("old") { "v1.35.0" } else { "v1.36.0" };
    let (spec, current, available) = replicas;
    let mut template = template();
    template["spec"]["version"] = json!(version);
    parse(&with(
        json!({
            "metadata": {"name": name, "namespace": "default", "uid": name, "generation": 1, "annotations": {},
                "labels": {HASH: format!("1-{name}"), "pool": "a"},
                "creationTimestamp": format!("2026-11-21T00:{minute:02}:00Z"), "ownerReferences": [
                    {"apiVersion": CORE, "kind": "MachineDeployment", "name": "md", "uid": "md", "controller": true}]},
            "spec": {"clusterName": "plain", "replicas": spec, "selector": {"matchLabels": {HASH: format!("1-{name}")}},
                "template": template},
            "status": {"observedGeneration": 1, "replicas": current, "readyReplicas": available,
                "availableReplicas": available, "upToDateReplicas": if version == "v1.36.0" { current } else { 0 },
                "versions": [{"version": version, "replicas": current}]},
        }),
        more,
    ))
}

pub fn observed(deployment: &Value, sets: Vec<Arc<MachineSet>>) -> Observed {
    Observed {
        deployment: parse(deployment),
        cluster: parse(&json!({"metadata": {"name": "plain", "namespace": "default", "uid": "plain"}})),
        sets,
        machines: Vec::new(),
        bootstrap: Reference::None,
        infrastructure: Reference::None,
        suffix: "aaaaa".to_owned(),
        updates_in_place: true,
        updates: Default::default(),
        now: now(),
    }
}

/// The MachineSets that are created or changed, as they are wanted.
pub fn applied(plan: &Plan) -> Vec<&MachineSet> {
    plan.steps.of::<Apply<MachineSet>>().map(|apply| &apply.wanted).collect()
}

/// The wanted replicas of each MachineSet, by name.
pub fn replicas(plan: &Plan) -> Vec<(String, i32)> {
    let wanted = applied(plan).into_iter();
    wanted.map(|set| (set.metadata.name.clone().unwrap(), set.spec.replicas.unwrap())).collect()
}
