//! The rules by which a MachineSet replaces unhealthy Machines.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::machine_set::{Observed, Plan, plan};
use engine::ExternalObject;
use engine::steps::{Delete, Patch};
use kube::core::ApiResource;
use schemas::cluster::Machine;
use schemas::{FromJson, HasConditions};
use serde_json::{Value, json};

const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

fn parse<T: FromJson>(value: &Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

/// A Machine with the statuses of HealthCheckSucceeded and OwnerRemediated; `going` for one that is being deleted.
fn machine(name: &str, minute: u32, health: &str, owner: &str, more: &[&str]) -> Arc<Machine> {
    let at = format!("2026-11-21T00:{minute:02}:00Z");
    let (status, reason) = owner.split_once(' ').unwrap_or((owner, "WaitingForRemediation"));
    let conditions = [("HealthCheckSucceeded", health, "x"), ("OwnerRemediated", status, reason)];
    let conditions: Vec<Value> = conditions
        .iter()
        .filter(|(_, status, _)| !status.is_empty())
        .map(|(type_, status, reason)| {
            json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": at})
        })
        .collect();
    let mut value = json!({
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": at, "ownerReferences": [
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "set", "uid": "set", "controller": true}]},
        "spec": {"clusterName": "plain"},
        "status": {"conditions": conditions},
    });
    if more.contains(&"going") {
        value["metadata"]["deletionTimestamp"] = json!(at);
        value["metadata"]["finalizers"] = json!(["x"]);
    }
    if more.contains(&"asked") {
        value["metadata"]["annotations"] = json!({"cluster.x-k8s.io/remediate-machine": ""});
    }
    parse(&value)
}

fn sick(name: &str, minute: u32) -> Arc<Machine> {
    machine(name, minute, "False", "False", &[])
}

fn observed(replicas: i32, limit: Value, machines: Vec<Arc<Machine>>) -> Observed {
    let deployment = json!({"metadata": {"name": "md", "namespace": "default", "uid": "md", "annotations": {REVISION: "2"}},
        "spec": {"clusterName": "plain", "replicas": 5, "remediation": {"maxInFlight": limit}}});
    Observed {
        set: parse(&json!({
            "metadata": {"name": "set", "namespace": "default", "uid": "set", "annotations": {REVISION: "2"}, "ownerReferences": [
                {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "name": "md", "uid": "md", "controller": true}]},
            "spec": {"clusterName": "plain", "replicas": replicas},
        })),
        cluster: parse(&json!({"metadata": {"name": "plain", "namespace": "default"}})),
        deployment: Some(parse(&deployment)),
        machines,
        bootstrap: Reference::None,
        infrastructure: Reference::None,
        control_plane: Reference::None,
        target: None,
        parts: Vec::new(),
        features: Default::default(),
        suffixes: Vec::new(),
        now: machinery::clock::parse_rfc3339("2026-11-21T01:00:00Z").unwrap(),
    }
}

/// Each Machine that is remediated, with the reason, and those that are deleted for another reason.
fn outcome(plan: &Plan) -> Vec<String> {
    let reason = |machine: &Machine| {
        machine.condition("OwnerRemediated").map_or("-".to_owned(), |condition| condition.reason.clone())
    };
    let name = |machine: &Machine| machine.metadata.name.clone().unwrap();
    let deleted: Vec<String> = plan.steps.of::<Delete<Machine>>().map(|delete| name(&delete.read)).collect();
    let marked = plan.steps.of::<Patch<Machine>>().filter(|patch| patch.wanted.status != patch.read.status);
    let marked: Vec<(String, String)> = marked.map(|it| (name(&it.wanted), reason(&it.wanted))).collect();
    let others = deleted.iter().filter(|name| !marked.iter().any(|(marked, _)| marked == *name));
    for (name, reason) in &marked {
        assert_eq!(deleted.contains(name), reason == "MachineDeleting", "{name}");
    }
    let marked = marked.iter().map(|(name, reason)| format!("{name} {reason}"));
    marked.chain(others.map(|name| format!("{name} deleted"))).collect()
}

#[test]
fn which_machines_are_replaced_and_in_which_order() {
    let three = || vec![sick("old", 1), sick("b-new", 3), sick("a-new", 3)];
    let asked = machine("asked", 0, "False", "False", &["asked"]);
    let rows = [
        (
            "without a limit",
            json!(null),
            three(),
            vec!["a-new MachineDeleting", "b-new MachineDeleting", "old MachineDeleting"],
        ),
        (
            "the newest first",
            json!(1),
            three(),
            vec!["b-new RemediationDeferred", "old RemediationDeferred", "a-new MachineDeleting"],
        ),
        (
            "a percentage is rounded up",
            json!("21%"),
            three(),
            vec!["old RemediationDeferred", "a-new MachineDeleting", "b-new MachineDeleting"],
        ),
        ("none at all", json!(0), vec![sick("a", 1)], vec!["a RemediationDeferred"]),
        (
            "what somebody asked for goes first",
            json!(1),
            vec![sick("new", 3), asked],
            vec!["new RemediationDeferred", "asked MachineDeleting"],
        ),
        (
            "what goes already counts",
            json!(1),
            vec![machine("gone", 1, "False", "False MachineDeleting", &["going"]), sick("a", 2)],
            vec!["a RemediationDeferred"],
        ),
        (
            "what goes for another reason does not count",
            json!(1),
            vec![machine("gone", 1, "False", "False", &["going"]), sick("a", 2)],
            vec!["a MachineDeleting"],
        ),
        (
            "its deletion is tried again",
            json!(null),
            vec![machine("a", 1, "False", "False MachineDeleting", &[])],
            vec!["a MachineDeleting"],
        ),
        ("nobody asked the owner", json!(null), vec![machine("a", 1, "False", "", &[])], vec![]),
        ("done", json!(null), vec![machine("a", 1, "False", "True", &[])], vec![]),
        ("healthy", json!(null), vec![machine("a", 1, "True", "", &[])], vec![]),
        (
            "healthy again",
            json!(null),
            vec![machine("a", 1, "True", "False RemediationDeferred", &[])],
            vec!["a -"],
        ),
    ];
    for (what, limit, machines, expected) in rows {
        let replicas = i32::try_from(machines.len()).unwrap();
        assert_eq!(outcome(&plan(&observed(replicas, limit, machines))), expected, "{what}");
    }
}

fn marked(plan: &Plan) -> &Machine {
    &plan.steps.of::<Patch<Machine>>().next().unwrap().wanted
}

#[test]
fn what_a_machine_says_while_it_waits() {
    let message = |observed: &Observed| {
        let plan = plan(observed);
        assert_eq!(plan.steps.of::<Delete<Machine>>().count(), 0);
        let condition = marked(&plan).condition("OwnerRemediated").unwrap().clone();
        (condition.reason, condition.message)
    };
    let many = observed(1, json!("0%"), vec![sick("a", 1)]);
    let (reason, text) = message(&many);
    assert_eq!(reason, "RemediationDeferred");
    assert_eq!(
        text,
        "Waiting because there are already too many remediations in progress (spec.strategy.remediation.maxInFlight is 0%)"
    );

    let mut outdated = observed(1, json!(null), vec![sick("a", 1)]);
    outdated.deployment = Some(parse(&json!({"metadata": {"name": "md", "annotations": {REVISION: "3"}}})));
    let (reason, text) = message(&outdated);
    assert_eq!(reason, "CannotBeRemediated");
    assert_eq!(text, "Machine won't be remediated because it is pending removal due to rollout");

    let mut blocked = observed(1, json!(null), vec![sick("a", 1)]);
    let plane = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "default"}, "spec": {"version": "v1.36.0"}});
    blocked.control_plane = Reference::Found(ExternalObject {
        object: parse(&plane),
        resource: ApiResource {
            group: "controlplane.cluster.x-k8s.io".to_owned(),
            version: "v1beta2".to_owned(),
            api_version: "controlplane.cluster.x-k8s.io/v1beta2".to_owned(),
            kind: "KubeadmControlPlane".to_owned(),
            plural: "kubeadmcontrolplanes".to_owned(),
        },
        contract: "v1beta2",
    });
    let (reason, text) = message(&blocked);
    assert_eq!(reason, "RemediationDeferred");
    assert_eq!(
        text,
        "* KubeadmControlPlane default/cp is provisioning (\"ControlPlaneIsStable\" preflight check failed)"
    );
}

#[test]
fn a_machine_that_waits_is_not_written_again() {
    let mut observed = observed(1, json!(0), vec![sick("a", 1)]);
    let first = plan(&observed);
    observed.machines = vec![Arc::new(marked(&first).clone())];
    assert_eq!(plan(&observed).steps.texts(), ["apply Machine default/a"]);
}

#[test]
fn a_set_that_shrinks_counts_what_it_replaces() {
    let machines = vec![sick("sick", 1), machine("b", 2, "True", "", &[]), machine("c", 3, "True", "", &[])];
    assert_eq!(outcome(&plan(&observed(2, json!(null), machines.clone()))), ["sick MachineDeleting"]);
    assert_eq!(outcome(&plan(&observed(1, json!(null), machines))), ["sick MachineDeleting", "b deleted"]);
}
