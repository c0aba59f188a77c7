//! What the MachineSets of a MachineDeployment look like.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::machine_deployment::{Plan, plan};
use engine::owners;
use engine::steps::Apply;
use schemas::cluster::MachineSet;
use serde_json::json;

use super::{DESIRED, DISABLE, HASH, HISTORY, MAXIMUM, REVISION, applied, deployment, observed, set};
use crate::core::machine_set::{CLUSTER_NAME, with};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const CONVERSION: &str = "cluster.x-k8s.io/conversion-data";
const MINIMUM_SIZE: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const CAPACITY: &str = "capacity.cluster-autoscaler.kubernetes.io/cpu";

fn wanted<'a>(plan: &'a Plan, name: &str) -> &'a MachineSet {
    applied(plan).into_iter().find(|set| set.metadata.name.as_deref() == Some(name)).unwrap()
}

#[test]
fn a_new_set() {
    let annotations = json!({LAST_APPLIED: "{}", CONVERSION: "{}", REVISION: "7", HISTORY: "1", DESIRED: "9", MAXIMUM: "9",
        MINIMUM_SIZE: "1", CAPACITY: "4", "own": "y"});
    let changes = json!({"/metadata/annotations": annotations, "/spec/deletion": {"order": "Oldest"},
        "/spec/machineNaming": {"template": "{{ .random }}"}});
    let plan = plan(&observed(&with(deployment(), changes), vec![]));
    let set = wanted(&plan, "md-aaaaa");
    let hash = set.metadata.labels.as_ref().unwrap()[HASH].clone();
    let (number, suffix) = hash.split_once('-').unwrap();
    assert!(number.parse::<u32>().is_ok() && suffix == "aaaaa", "{hash}");
    let labels =
        json!({"pool": "a", CLUSTER_NAME: "plain", HASH: hash, "cluster.x-k8s.io/deployment-name": "md"});
    assert_eq!(json!(set.metadata.labels), labels);
    let expected = json!({"own": "y", MINIMUM_SIZE: "1", CAPACITY: "4", REVISION: "1", DESIRED: "3", MAXIMUM: "4", DISABLE: "false"});
    assert_eq!(json!(set.metadata.annotations), expected);
    assert!(owners::is_controlled_by(set, "md"));
    let spec = serde_json::to_value(&set.spec).unwrap();
    assert_eq!(spec["selector"], json!({"matchLabels": {"pool": "a", CLUSTER_NAME: "plain", HASH: hash}}));
    let metadata =
        json!({"labels": {"pool": "a", CLUSTER_NAME: "plain", HASH: hash}, "annotations": {"note": "x"}});
    assert_eq!(spec["template"]["metadata"], metadata);
    assert_eq!(spec["template"]["spec"], deployment()["spec"]["template"]["spec"]);
    assert_eq!(
        (&spec["deletion"]["order"], &spec["machineNaming"]["template"]),
        (&json!("Oldest"), &json!("{{ .random }}"))
    );
    assert_eq!(plan.wanted.metadata.annotations.unwrap()[REVISION], "1");
}

#[test]
fn names_have_at_most_63_characters() {
    let long = "x".repeat(63);
    let plan = plan(&observed(&with(deployment(), json!({"/metadata/name": long})), vec![]));
    let name = applied(&plan)[0].metadata.name.clone().unwrap();
    assert_eq!(name, format!("{}-aaaaa", "x".repeat(57)));
}

/// Fields that need no rollout reach every MachineSet, all others only a new one.
#[test]
fn an_existing_set() {
    let changes = json!({
        "/spec/template/metadata/labels": {"pool": "a", "new": "label"},
        "/spec/template/metadata/annotations": {"new": "annotation"},
        "/spec/template/spec/minReadySeconds": 5,
        "/spec/template/spec/readinessGates": [{"conditionType": "Fine"}],
        "/spec/template/spec/deletion": {"nodeDrainTimeoutSeconds": 1},
        "/spec/template/spec/taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}],
        "/spec/deletion": {"order": "Newest"},
    });
    let plan = plan(&observed(&with(deployment(), changes), vec![set("old", 1, (3, 3, 3), json!({}))]));
    let old = wanted(&plan, "old");
    assert_eq!(old.metadata.uid.as_deref(), Some("old"), "a MachineSet that is gone is not made again");
    let spec = serde_json::to_value(&old.spec).unwrap();
    assert_eq!(spec["selector"], json!({"matchLabels": {HASH: "1-old"}}));
    let labels = json!({"pool": "a", "new": "label", CLUSTER_NAME: "plain", HASH: "1-old"});
    assert_eq!(spec["template"]["metadata"], json!({"labels": labels, "annotations": {"new": "annotation"}}));
    let template = &spec["template"]["spec"];
    assert_eq!(template["version"], "v1.35.0");
    assert_eq!(template["minReadySeconds"], 5);
    assert_eq!(template["readinessGates"][0]["conditionType"], "Fine");
    assert_eq!(template["deletion"]["nodeDrainTimeoutSeconds"], 1);
    assert_eq!(template["taints"][0]["key"], "k");
    assert_eq!(spec["deletion"]["order"], "Newest");
}

#[test]
fn revisions() {
    let at = |name: &str, minute, revision: &str, history: &str| {
        let mut annotations = json!({REVISION: revision});
        if !history.is_empty() {
            annotations[HISTORY] = json!(history);
        }
        set(name, minute, (1, 1, 1), json!({"/metadata/annotations": annotations}))
    };
    // Columns: what, MachineSets, annotations of the new one: revision and history.
    let rows = [
        ("the first", vec![], "md-aaaaa", "1", None),
        (
            "one more than the old ones",
            vec![at("old-1", 1, "3", ""), at("old-2", 2, "9", "")],
            "md-aaaaa",
            "10",
            None,
        ),
        ("unchanged", vec![at("old", 1, "3", ""), at("new", 2, "4", "")], "new", "4", None),
        ("a rollback", vec![at("old", 2, "3", ""), at("new", 1, "2", "")], "new", "4", Some("2")),
        ("another rollback", vec![at("old", 2, "5", ""), at("new", 1, "4", "2")], "new", "6", Some("2,4")),
    ];
    for (what, sets, name, revision, history) in rows {
        let plan = plan(&observed(&deployment(), sets));
        let annotations = wanted(&plan, name).metadata.annotations.as_ref().unwrap();
        assert_eq!(annotations[REVISION], revision, "{what}");
        assert_eq!(annotations.get(HISTORY).map(String::as_str), history, "{what}");
        assert_eq!(plan.wanted.metadata.annotations.as_ref().unwrap()[REVISION], revision, "{what}");
        let old = plan.steps.of::<Apply<MachineSet>>();
        for Apply { read, wanted, .. } in old.filter(|it| it.wanted.metadata.name.as_deref() != Some(name)) {
            let revision = |set: &MachineSet| set.metadata.annotations.as_ref().unwrap()[REVISION].clone();
            assert_eq!(
                revision(wanted),
                revision(read.as_ref().unwrap()),
                "{what}: an old set keeps its own"
            );
        }
    }
}

#[test]
fn only_on_delete_keeps_old_sets_from_creating_machines() {
    for (type_, old) in [("RollingUpdate", "false"), ("OnDelete", "true")] {
        let changed = with(deployment(), json!({"/spec/rollout/strategy": {"type": type_}}));
        let sets = vec![set("old", 1, (3, 3, 3), json!({})), set("new", 2, (1, 1, 1), json!({}))];
        let plan = plan(&observed(&changed, sets));
        let disabled =
            |name: &str| wanted(&plan, name).metadata.annotations.as_ref().unwrap()[DISABLE].clone();
        assert_eq!((disabled("old").as_str(), disabled("new").as_str()), (old, "false"), "{type_}");
    }
}

#[test]
fn a_set_without_a_controller_is_adopted() {
    let orphan = set(
        "new",
        1,
        (3, 3, 3),
        json!({"/metadata/ownerReferences": null, "/metadata/labels": {"pool": "a"}}),
    );
    let plan = plan(&observed(&deployment(), vec![orphan]));
    let adopted = wanted(&plan, "new");
    assert!(owners::is_controlled_by(adopted, "md"));
    let labels = adopted.metadata.labels.as_ref().unwrap();
    assert_eq!(labels["cluster.x-k8s.io/deployment-name"], "md");
    assert!(!labels.contains_key(HASH), "its selector stays as it is");
}
