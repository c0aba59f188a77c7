//! What reaches Machines that exist already.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::machine_set::plan;
use schemas::cluster::Machine;
use serde_json::{Value, json};

use super::{CLUSTER_NAME, CORE, SET_NAME, external, machine, observed, set, with};

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
    let [(_, wanted)] = plan.sync.as_slice() else { panic!("{:?}", plan.sync) };
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
        assert!(plan.sync.is_empty());
        let [(_, wanted)] = plan.update.as_slice() else { panic!("{:?}", plan.update) };
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
    let mut observed = observed(&set(), vec![machine("a", json!({})), machine("b", json!({})), going]);
    observed.parts = vec![
        part("a", json!({"pool": "a"})),
        part("b", all.clone()),
        part("going", json!({})),
        part("stranger", json!({})),
    ];
    let plan = plan(&observed);
    let [(_, wanted)] = plan.sync_parts.as_slice() else { panic!("{:?}", plan.sync_parts) };
    assert_eq!(wanted.metadata.name.as_deref(), Some("a"));
    assert_eq!(json!(wanted.metadata.labels), all);
    assert_eq!(json!(wanted.metadata.annotations), json!({"note": "x"}));
    assert!(plan.remove_metadata.is_empty(), "{:?}", plan.remove_metadata);
    // A label that the template has no more is removed while the Machine still has it, too.
    let mut more = all.clone();
    more["team"] = json!("blue");
    observed.machines = vec![machine("b", json!({"/metadata/labels": more})), machine("a", json!({}))];
    observed.parts = vec![part("b", more.clone()), part("a", more)];
    let plan = self::plan(&observed);
    let [(part, removed)] = plan.remove_metadata.as_slice() else { panic!("{:?}", plan.remove_metadata) };
    assert_eq!(part.object.metadata.name.as_deref(), Some("b"));
    assert_eq!(removed.labels.iter().map(String::as_str).collect::<Vec<_>>(), ["team"]);
    assert!(removed.annotations.is_empty());
}
