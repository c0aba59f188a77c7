//! Which MachineSet is the new one, and how many replicas each gets.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use cluster_core::machine_deployment::{FINALIZER, Plan, plan};
use engine::Action;
use engine::object::uid;
use engine::steps::Delete;
use schemas::cluster::MachineSet;
use serde_json::{Value, json};

use super::{MAXIMUM, deployment, observed, replicas, set};
use crate::core::machine_set::with;

fn deleted(plan: &Plan) -> Vec<&str> {
    plan.steps.of::<Delete<MachineSet>>().map(|delete| uid(delete.read.as_ref())).collect()
}

fn strategy(type_: &str, surge: Value, unavailable: Value) -> Value {
    json!({"/spec/rollout/strategy": {"type": type_, "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}})
}

#[test]
fn a_step_of_each_strategy() {
    let full = (3, 3, 3);
    let on_delete = || json!({"/spec/rollout/strategy": {"type": "OnDelete"}});
    let paused = || json!({"/spec/paused": true});
    let old = |numbers| set("old", 1, numbers, json!({}));
    let new = |numbers| set("new", 2, numbers, json!({}));
    let annotated = |name: &str, minute, numbers| {
        set(name, minute, numbers, json!({"/metadata/annotations": {MAXIMUM: "4"}}))
    };
    let rolling = |surge: Value, unavailable: Value| strategy("RollingUpdate", surge, unavailable);
    // Columns: what, changes of the MachineDeployment, MachineSets, wanted replicas; md-aaaaa is a set that is made now.
    type Row<'a> = (&'a str, Value, Vec<Arc<MachineSet>>, &'a [(&'a str, i32)]);
    let rows: Vec<Row<'_>> = vec![
        ("the first set", json!({}), vec![], &[("md-aaaaa", 3)]),
        ("a new template", json!({}), vec![old(full)], &[("md-aaaaa", 1), ("old", 3)]),
        ("a new one is available", json!({}), vec![old(full), new((1, 1, 1))], &[("new", 1), ("old", 2)]),
        ("without surge", rolling(json!(0), json!(1)), vec![old(full)], &[("md-aaaaa", 0), ("old", 2)]),
        (
            "surge in percent is rounded up",
            rolling(json!("34%"), json!(0)),
            vec![old(full)],
            &[("md-aaaaa", 2), ("old", 3)],
        ),
        (
            "unavailable in percent is rounded down",
            rolling(json!(0), json!("67%")),
            vec![old(full)],
            &[("md-aaaaa", 0), ("old", 1)],
        ),
        (
            "both resolve to nothing",
            rolling(json!(0), json!("1%")),
            vec![old(full)],
            &[("md-aaaaa", 0), ("old", 2)],
        ),
        (
            "more may be unavailable than there are",
            rolling(json!(0), json!(9)),
            vec![old(full)],
            &[("md-aaaaa", 0), ("old", 0)],
        ),
        ("on delete: nothing happens", on_delete(), vec![old(full)], &[("md-aaaaa", 0), ("old", 3)]),
        (
            "on delete: one was deleted",
            on_delete(),
            vec![old((3, 2, 2)), new((0, 0, 0))],
            &[("new", 1), ("old", 2)],
        ),
        (
            "on delete: scaled down",
            on_delete(),
            vec![old((3, 3, 3)), new((1, 1, 1))],
            &[("new", 1), ("old", 2)],
        ),
        ("paused: no new set", paused(), vec![old(full)], &[("old", 3)]),
        ("paused: the only set is scaled", paused(), vec![old((2, 2, 2))], &[("old", 3)]),
        (
            "paused: several sets keep their proportion",
            json!({"/spec/paused": true, "/spec/replicas": 7}),
            vec![annotated("old", 1, (2, 2, 2)), annotated("new", 2, (2, 2, 2))],
            &[("new", 4), ("old", 4)],
        ),
    ];
    for (what, changes, sets, expected) in rows {
        let plan = plan(&observed(&with(deployment(), changes), sets));
        let expected: Vec<_> =
            expected.iter().map(|(name, replicas)| ((*name).to_owned(), *replicas)).collect();
        assert_eq!(replicas(&plan), expected, "{what}");
        assert!(plan.errors.is_empty(), "{what}");
        assert_eq!(deleted(&plan), [""; 0], "{what}");
    }
}

#[test]
fn which_set_is_the_new_one() {
    let after = |minute: &str| json!({"/spec/rollout/after": format!("2026-11-21T00:{minute}:00Z")});
    let two = || vec![set("a", 1, (1, 1, 1), json!({})), set("b", 2, (1, 1, 1), json!({}))];
    let larger = || vec![set("a", 1, (0, 0, 0), json!({})), set("b", 2, (3, 3, 3), json!({}))];
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z"});
    let in_place = json!({"/spec/template/metadata/labels": {"other": "x"}, "/spec/template/spec/minReadySeconds": 5,
        "/spec/template/spec/readinessGates": [{"conditionType": "Fine"}], "/spec/template/spec/clusterName": "",
        "/spec/template/spec/deletion": {"nodeDrainTimeoutSeconds": 1},
        "/spec/template/spec/taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}]});
    let differs = |pointer: &str, value: Value| {
        vec![set("a", 1, (3, 3, 3), json!({format!("/spec/template/spec/{pointer}"): value}))]
    };
    let reference = json!({"apiGroup": "i", "kind": "InfraTemplate", "name": "u"});
    // Columns: what, changes of the MachineDeployment, MachineSets, the new one.
    let rows: Vec<(&str, Value, Vec<_>, &str)> = vec![
        ("of duplicates the older", json!({}), two(), "a"),
        ("of duplicates the larger", json!({}), larger(), "b"),
        ("after a time: those before it do not count", after("02"), two(), "b"),
        ("after a time: none is new enough", after("03"), two(), "md-aaaaa"),
        (
            "a time that is to come does not count",
            json!({"/spec/rollout/after": "2026-11-21T01:05:00Z"}),
            two(),
            "a",
        ),
        (
            "one that is being deleted does not count",
            json!({}),
            vec![set("a", 1, (3, 3, 3), going)],
            "md-aaaaa",
        ),
        ("fields that need no rollout", json!({}), vec![set("a", 1, (3, 3, 3), in_place)], "a"),
        ("another version", json!({}), differs("version", json!("v1.35.0")), "md-aaaaa"),
        ("another failure domain", json!({}), differs("failureDomain", json!("fd")), "md-aaaaa"),
        ("other machines", json!({}), differs("infrastructureRef", reference.clone()), "md-aaaaa"),
        (
            "another configuration",
            json!({}),
            differs("bootstrap", json!({"configRef": reference})),
            "md-aaaaa",
        ),
        ("another Secret", json!({}), differs("bootstrap", json!({"dataSecretName": "x"})), "md-aaaaa"),
    ];
    for (what, changes, sets, expected) in rows {
        let plan = plan(&observed(&with(deployment(), changes), sets));
        assert_eq!(replicas(&plan)[0].0, expected, "{what}");
    }
}

#[test]
fn a_time_that_is_to_come_is_waited_for() {
    let later = with(deployment(), json!({"/spec/rollout/after": "2026-11-21T01:05:00Z"}));
    let plan = plan(&observed(&later, vec![set("a", 1, (3, 3, 3), json!({}))]));
    assert_eq!(plan.action, Action::requeue_after(Duration::from_secs(300)));
}

#[test]
fn old_sets_are_deleted_after_the_rollout() {
    let done = || set("new", 2, (3, 3, 3), json!({}));
    let old = |numbers, more| set("old", 1, numbers, more);
    let unseen = json!({"/metadata/generation": 2});
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z"});
    // Columns: what, MachineSets, those that are deleted.
    let rows: Vec<(&str, Vec<_>, &[&str])> = vec![
        ("an empty one", vec![done(), old((0, 0, 0), json!({}))], &["old"]),
        ("one with a Machine", vec![done(), old((0, 1, 0), json!({}))], &[]),
        ("its controller does not know yet", vec![done(), old((0, 0, 0), unseen)], &[]),
        ("one that goes already", vec![done(), old((0, 0, 0), going)], &[]),
        (
            "new ones are not available",
            vec![set("new", 2, (3, 3, 2), json!({})), old((0, 0, 0), json!({}))],
            &[],
        ),
    ];
    for (what, sets, expected) in rows {
        let plan = plan(&observed(&deployment(), sets));
        assert_eq!(deleted(&plan), expected, "{what}");
    }
}

#[test]
fn a_deployment_is_gone_after_its_sets() {
    let going = || {
        let changes = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": [FINALIZER]});
        with(deployment(), changes)
    };
    let first = plan(&observed(&going(), vec![set("new", 2, (3, 3, 3), json!({}))]));
    assert_eq!(first.steps.texts(), ["delete MachineSet default/new"]);
    assert!(first.wanted.metadata.finalizers.is_some());
    let last = plan(&observed(&going(), vec![]));
    assert_eq!(last.wanted.metadata.finalizers, None);
    assert!(last.steps.is_empty());
}
