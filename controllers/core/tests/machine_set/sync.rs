//! What reaches Machines that exist already.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::machine_set::plan;
use engine::steps::{Apply, RemoveMetadata};
use kube::api::DynamicObject;
use schemas::cluster::Machine;
use serde_json::{Value, json};

use super::{CLUSTER_NAME, CORE, SET_NAME, applied, external, machine, observed, patched, set, with};

/// A template with every field that needs no rollout.
fn template() -> Value {
    with(
        set(),
        json!({
            "/metadata/labels": {"cluster.x-k8s.io/deployment-name": "md"},
            "/spec/template/metadata/labels": {"pool": "a", "new": "label"},
            "/spec/template/spec/minReadySeconds": 7,
            "/spec/template/spec/failureDomain": "other",
            "/spec/template/spec/readinessGates": [{"conditionType": "Fine"}],
            "/spec/template/spec/deletion": {"nodeDrainTimeoutSeconds": 1, "nodeVolumeDetachTimeoutSeconds": 2},
            "/spec/template/spec/taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}],
        }),
    )
}

fn spec(machine: &Machine) -> Value {
    serde_json::to_value(&machine.spec).unwrap()
}

#[test]
fn what_an_existing_machine_gets() {
    let plan = plan(&observed(&template(), vec![machine("a", json!({}))]));
    assert_eq!(plan.steps.texts(), ["apply Machine default/a"]);
    let wanted = applied(&plan)[0];
    assert_eq!(wanted.metadata.uid.as_deref(), Some("a"), "a Machine that is gone is not made again");
    let labels = json!({"pool": "a", "new": "label", CLUSTER_NAME: "plain", SET_NAME: "set",
        "cluster.x-k8s.io/deployment-name": "md"});
    assert_eq!(json!(wanted.metadata.labels), labels);
    assert_eq!(json!(wanted.metadata.annotations), json!({"note": "x"}));
    let expected = json!({
        // As it is.
        "clusterName": "plain", "version": "v1.35.0", "failureDomain": "fd",
        "bootstrap": {"configRef": {"apiGroup": "b", "kind": "Config", "name": "a"}},
        "infrastructureRef": {"apiGroup": "i", "kind": "Infra", "name": "a"},
        // As the template says.
        "minReadySeconds": 7,
        "readinessGates": [{"conditionType": "Fine"}],
        "deletion": {"nodeDrainTimeoutSeconds": 1, "nodeVolumeDetachTimeoutSeconds": 2},
        "taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}],
    });
    assert_eq!(spec(wanted), expected);
}

#[test]
fn what_a_machine_in_deletion_gets() {
    let going = |deletion: Value| {
        machine(
            "a",
            json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z", "/spec/deletion": deletion}),
        )
    };
    let wanted = |set: &Value, deletion: Value| {
        let current = going(deletion);
        let plan = plan(&observed(set, vec![current.clone()]));
        assert_eq!(plan.steps.texts(), ["patch Machine default/a"]);
        let wanted = patched(&plan)[0];
        assert_eq!(wanted.metadata, current.metadata, "labels and annotations stay");
        spec(wanted)
    };
    let changed = wanted(&template(), json!({"nodeDeletionTimeoutSeconds": 10}));
    let deletion = json!({"nodeDeletionTimeoutSeconds": 10, "nodeDrainTimeoutSeconds": 1, "nodeVolumeDetachTimeoutSeconds": 2});
    assert_eq!(changed["deletion"], deletion);
    assert_eq!(changed["minReadySeconds"], 7);
    assert_eq!(changed["readinessGates"], json!([{"conditionType": "Fine"}]));
    assert_eq!(changed["taints"][0]["key"], "k");
    assert_eq!((&changed["failureDomain"], &changed["version"]), (&json!("fd"), &json!("v1.35.0")));
    // Timeouts that the template no longer has are removed, except the one that admission would set again.
    let timeouts = json!({"nodeDeletionTimeoutSeconds": 10, "nodeDrainTimeoutSeconds": 600});
    assert_eq!(wanted(&set(), timeouts)["deletion"], json!({"nodeDeletionTimeoutSeconds": 10}));
    assert_eq!(wanted(&set(), json!(null))["deletion"], json!(null));
}

#[test]
fn labels_and_annotations_of_a_machines_objects() {
    let part = |name: &str, labels: Value| {
        let owners =
            json!([{"apiVersion": CORE, "kind": "Machine", "name": name, "uid": name, "controller": true}]);
        let changes = json!({"/metadata/name": name, "/metadata/ownerReferences": owners, "/metadata/labels": labels,
            "/metadata/annotations": {"note": "x"}});
        external("infrastructure.cluster.x-k8s.io", "DevMachine", changes)
    };
    let all = json!({"pool": "a", CLUSTER_NAME: "plain", SET_NAME: "set"});
    let going = machine("going", json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z"}));
    let unscaled = with(set(), json!({"/spec/replicas": null}));
    let mut observed = observed(&unscaled, vec![machine("a", json!({})), machine("b", json!({})), going]);
    observed.parts = vec![
        part("a", json!({"pool": "a"})),
        part("b", all.clone()),
        part("going", json!({})),
        part("stranger", json!({})),
    ];
    let plan = plan(&observed);
    let expected = [
        "apply Machine default/a",
        "apply Machine default/b",
        "patch Machine default/going",
        "apply DevMachine default/a",
    ];
    assert_eq!(plan.steps.texts(), expected);
    let wanted = &plan.steps.of::<Apply<DynamicObject>>().next().unwrap().wanted;
    assert_eq!(json!(wanted.metadata.labels), all);
    assert_eq!(json!(wanted.metadata.annotations), json!({"note": "x"}));
    // A label that the template has no more is removed while the Machine still has it, too.
    let mut more = all.clone();
    more["team"] = json!("blue");
    observed.machines = vec![machine("b", json!({"/metadata/labels": more})), machine("a", json!({}))];
    observed.parts = vec![part("b", more.clone()), part("a", more)];
    let plan = self::plan(&observed);
    let expected =
        ["remove_metadata DevMachine default/b", "apply Machine default/b", "apply Machine default/a"];
    assert_eq!(plan.steps.texts(), expected);
    let removed = &plan.steps.of::<RemoveMetadata<DynamicObject>>().next().unwrap().removed;
    assert_eq!(removed.labels.iter().map(String::as_str).collect::<Vec<_>>(), ["team"]);
    assert!(removed.annotations.is_empty());
}
