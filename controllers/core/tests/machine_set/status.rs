//! Counters and conditions of MachineSets.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::machine_set::{Observed, plan};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};
use serde_json::{Value, json};

use super::{external, machine, observed, set, with};

/// A Machine with these conditions, each with its status.
fn is(name: &str, conditions: &[(&str, &str)]) -> Arc<Machine> {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(type_, status)| {
            json!({"type": type_, "status": status, "reason": "Why", "message": "", "lastTransitionTime": "2026-11-21T00:30:00Z"})
        })
        .collect();
    machine(name, json!({"/status/conditions": conditions}))
}

const GOOD: &[(&str, &str)] =
    &[("Ready", "True"), ("Available", "True"), ("UpToDate", "True"), ("NodeReady", "True")];

#[test]
fn counters() {
    let ready = is("b", &[("Ready", "True"), ("UpToDate", "False"), ("NodeReady", "True")]);
    let newer = machine("c", json!({"/spec/version": "v1.36.0", "/metadata/labels": {}}));
    let plan = plan(&observed(&set(), vec![is("a", GOOD), ready, newer]));
    let status = serde_json::to_value(plan.wanted.status.unwrap()).unwrap();
    let expected = [
        ("/replicas", json!(3)),
        ("/readyReplicas", json!(2)),
        ("/availableReplicas", json!(1)),
        ("/upToDateReplicas", json!(1)),
        ("/observedGeneration", json!(3)),
        ("/selector", json!("cluster.x-k8s.io/cluster-name=plain,pool=a")),
        ("/versions", json!([{"version": "v1.35.0", "replicas": 2}, {"version": "v1.36.0", "replicas": 1}])),
        ("/deprecated/v1beta1/readyReplicas", json!(2)),
        ("/deprecated/v1beta1/availableReplicas", json!(1)),
    ];
    for (pointer, value) in expected {
        assert_eq!(status.pointer(pointer), Some(&value), "{pointer}");
    }
}

#[test]
fn machines_with_all_labels_of_the_template() {
    let labelled = json!({"/metadata/labels": {"pool": "a", super::CLUSTER_NAME: "plain"}});
    let plan = plan(&observed(&set(), vec![machine("a", labelled), machine("b", json!({}))]));
    let older = plan.wanted.status.unwrap().deprecated.unwrap().v1beta1.unwrap();
    assert_eq!(older.fully_labeled_replicas, Some(1));
}

fn condition(set: &MachineSet, type_: &str) -> String {
    let condition = set.condition(type_).unwrap();
    format!("{} {} {}", condition.status, condition.reason, condition.message).trim_end().to_owned()
}

#[test]
fn scaling_and_deletion() {
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z"});
    let replicas = |count: Value| json!({"/spec/replicas": count});
    // Columns: what, changes of the set, number of Machines, ScalingUp, ScalingDown, Deleting.
    let rows = [
        ("at rest", json!({}), 1, "False NotScalingUp", "False NotScalingDown", "False NotDeleting"),
        (
            "up",
            replicas(json!(3)),
            1,
            "True ScalingUp Scaling up from 1 to 3 replicas",
            "False NotScalingDown",
            "False NotDeleting",
        ),
        (
            "down",
            replicas(json!(0)),
            2,
            "False NotScalingUp",
            "True ScalingDown Scaling down from 2 to 0 replicas",
            "False NotDeleting",
        ),
        (
            "unknown",
            replicas(json!(null)),
            1,
            "Unknown WaitingForReplicasSet Waiting for spec.replicas set",
            "Unknown WaitingForReplicasSet Waiting for spec.replicas set",
            "False NotDeleting",
        ),
        (
            "deleted",
            going.clone(),
            2,
            "False NotScalingUp",
            "True ScalingDown Scaling down from 2 to 0 replicas",
            "True Deleting Deleting 2 Machines",
        ),
        ("gone", going, 0, "False NotScalingUp", "False NotScalingDown", "True Deleting Deletion completed"),
    ];
    for (what, changes, count, up, down, deleting) in rows {
        let machines = (0..count).map(|index| is(&format!("m{index}"), GOOD)).collect();
        let plan = plan(&observed(&with(set(), changes), machines));
        let found = ["ScalingUp", "ScalingDown", "Deleting"].map(|type_| condition(&plan.wanted, type_));
        assert_eq!(found, [up, down, deleting], "{what}");
    }
}

#[test]
fn machines_are_summed_up() {
    let bad = is("b", &[("Ready", "False"), ("UpToDate", "False")]);
    let of = |machines| plan(&observed(&set(), machines)).wanted;
    let sets = [of(vec![]), of(vec![is("a", GOOD)]), of(vec![is("a", GOOD), bad])];
    let found = sets.map(|set| ["MachinesReady", "MachinesUpToDate"].map(|type_| condition(&set, type_)));
    assert_eq!(found[0], ["True NoReplicas", "True NoReplicas"]);
    assert_eq!(found[1], ["True Ready", "True UpToDate"]);
    assert!(found[2][0].starts_with("False NotReady") && found[2][1].starts_with("False NotUpToDate"));
}

/// Status, severity, reason and message of each condition for clients of v1beta1, as Cluster API 1.14 writes them.
fn older(observed: &Observed) -> Vec<[String; 5]> {
    let older = plan(observed).wanted.status.unwrap().deprecated.unwrap().v1beta1.unwrap();
    let text = |text: Option<String>| text.unwrap_or_default();
    let columns = older.conditions.into_iter().map(|condition| {
        [
            condition.type_,
            condition.status,
            text(condition.severity),
            text(condition.reason),
            text(condition.message),
        ]
    });
    columns.collect()
}

#[test]
fn conditions_for_older_clients() {
    let is_true = |type_: &'static str| [type_, "True", "", "", ""];
    let scaling = ["False", "Warning", "ScalingUp", "Scaling up MachineSet to 1 replicas (actual 0)"];
    let resized = |type_: &'static str| [type_, scaling[0], scaling[1], scaling[2], scaling[3]];
    let new = observed(&set(), vec![]);
    assert_eq!(
        older(&new),
        [resized("Ready"), is_true("MachinesCreated"), is_true("MachinesReady"), resized("Resized")]
    );

    let mut blocked = new;
    blocked.control_plane = Reference::Found(external("c", "Plane", json!({"/spec/version": "v1.36.0"})));
    let why = "Plane default/t is provisioning (\"ControlPlaneIsStable\" preflight check failed)";
    let created = |type_: &'static str| [type_, "False", "Error", "PreflightCheckFailed", why];
    assert_eq!(
        older(&blocked),
        [created("Ready"), created("MachinesCreated"), is_true("MachinesReady"), resized("Resized")]
    );

    let done = observed(&set(), vec![is("a", GOOD)]);
    assert_eq!(older(&done), ["Ready", "MachinesCreated", "MachinesReady", "Resized"].map(is_true));

    let conditions = json!({"v1beta1": {"conditions": [
        {"type": "Ready", "status": "False", "severity": "Info", "reason": "Draining", "lastTransitionTime": "2026-11-21T00:30:00Z"}]}});
    let leaving = machine("b", json!({"/status/deprecated": conditions}));
    let two = observed(&with(set(), json!({"/spec/replicas": 2})), vec![is("a", GOOD), leaving]);
    let ready = |type_: &'static str| [type_, "False", "Info", "Draining @ Machine/b", "1 of 2 completed"];
    assert_eq!(older(&two), [ready("Ready"), is_true("MachinesCreated"), ready("MachinesReady")]);
}
