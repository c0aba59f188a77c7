//! Counters and conditions of MachineDeployments.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use cluster_core::machine_deployment::plan;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineDeployment};
use serde_json::{Value, json};

use super::{deployment, observed, set};
use crate::core::machine_set::{machine, with};

fn condition(deployment: &MachineDeployment, type_: &str) -> String {
    let condition = deployment.condition(type_).unwrap();
    format!("{} {} {}", condition.status, condition.reason, condition.message).trim_end().to_owned()
}

#[test]
fn counters() {
    let sets = vec![set("old", 1, (1, 2, 1), json!({})), set("new", 2, (2, 2, 1), json!({}))];
    let plan = plan(&observed(&deployment(), sets));
    let status = serde_json::to_value(plan.wanted.status.unwrap()).unwrap();
    let expected = [
        ("/replicas", json!(4)),
        ("/readyReplicas", json!(2)),
        ("/availableReplicas", json!(2)),
        ("/upToDateReplicas", json!(2)),
        ("/observedGeneration", json!(2)),
        ("/phase", json!("ScalingDown")),
        ("/selector", json!("cluster.x-k8s.io/cluster-name=plain,pool=a")),
        ("/versions", json!([{"version": "v1.35.0", "replicas": 2}, {"version": "v1.36.0", "replicas": 2}])),
        ("/deprecated/v1beta1/readyReplicas", json!(2)),
        ("/deprecated/v1beta1/availableReplicas", json!(2)),
        ("/deprecated/v1beta1/unavailableReplicas", json!(1)),
        ("/deprecated/v1beta1/updatedReplicas", json!(2)),
    ];
    for (pointer, value) in expected {
        assert_eq!(status.pointer(pointer), Some(&value), "{pointer}");
    }
}

#[test]
fn when_it_is_available() {
    let one_less = json!({"/spec/rollout/strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "34%", "maxSurge": 1}}});
    let on_delete =
        json!({"/spec/rollout/strategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1}}});
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z"});
    let counted = |available| vec![set("new", 1, (3, 3, available), json!({}))];
    // Columns: what, changes of the MachineDeployment, MachineSets, Available, ScalingUp, phase.
    let rows: Vec<(&str, Value, Vec<_>, &str, &str, &str)> = vec![
        ("all", json!({}), counted(3), "True Available", "False NotScalingUp", "Running"),
        (
            "too few",
            json!({}),
            counted(2),
            "False NotAvailable 2 available replicas, at least 3 required (spec.strategy.rollout.maxUnavailable is 0, spec.replicas is 3)",
            "False NotScalingUp",
            "Running",
        ),
        (
            "one may be missing",
            one_less.clone(),
            counted(2),
            "True Available",
            "False NotScalingUp",
            "Running",
        ),
        (
            "two are missing",
            one_less,
            counted(1),
            "False NotAvailable 1 available replicas, at least 2 required (spec.strategy.rollout.maxUnavailable is 34%, spec.replicas is 3)",
            "False NotScalingUp",
            "Running",
        ),
        (
            "on delete, all count",
            on_delete,
            counted(2),
            "False NotAvailable 2 available replicas, at least 3 required (spec.replicas is 3)",
            "False NotScalingUp",
            "Running",
        ),
        (
            "in deletion",
            going,
            counted(2),
            "False NotAvailable Deletion in progress",
            "False NotScalingUp",
            "Running",
        ),
        (
            "no set yet",
            json!({}),
            vec![],
            "Unknown WaitingForAvailableReplicasSet Waiting for status.availableReplicas set",
            "True ScalingUp Scaling up from 0 to 3 replicas",
            "ScalingUp",
        ),
        (
            "no replicas yet",
            json!({"/spec/replicas": null}),
            vec![],
            "Unknown WaitingForReplicasSet Waiting for spec.replicas set",
            "Unknown WaitingForReplicasSet Waiting for spec.replicas set",
            "Running",
        ),
    ];
    for (what, changes, sets, available, up, phase) in rows {
        let deployment = plan(&observed(&with(deployment(), changes), sets)).wanted;
        assert_eq!(condition(&deployment, "Available"), available, "{what}");
        assert_eq!(condition(&deployment, "ScalingUp"), up, "{what}");
        let found = deployment.status.unwrap().phase.unwrap();
        assert_eq!(found, phase, "{what}");
    }
}

fn outdated(name: &str, reason: &str, message: &str) -> Arc<Machine> {
    let condition = json!([{"type": "UpToDate", "status": "False", "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-21T00:30:00Z"}]);
    machine(name, json!({"/status/conditions": condition}))
}

#[test]
fn what_is_rolled_out() {
    let of = |machines: Vec<Arc<Machine>>| {
        let mut observed = observed(&deployment(), vec![set("new", 1, (3, 3, 3), json!({}))]);
        observed.machines = machines;
        condition(&plan(&observed).wanted, "RollingOut")
    };
    assert_eq!(of(vec![machine("a", json!({}))]), "False NotRollingOut");
    let template = "* ConfigTemplate is not up-to-date";
    let version = "* Version v1.35.0, v1.36.0 required";
    let two = vec![
        outdated("a", "NotUpToDate", template),
        outdated("b", "NotUpToDate", &format!("{version}\n{template}")),
        outdated("c", "Updating", "* In-place update in progress"),
    ];
    let expected = format!("True RollingOut Rolling out 3 not up-to-date replicas\n{version}\n{template}");
    assert_eq!(of(two), expected, "the version first, each reason once");
}

#[test]
fn conditions_for_older_clients() {
    let ready = json!({"v1beta1": {"conditions": [{"type": "Ready", "status": "False", "severity": "Error",
        "reason": "PreflightCheckFailed", "message": "why", "lastTransitionTime": "2026-11-21T00:30:00Z"}]}});
    let too_few = "Minimum availability requires 3 replicas, current 2 available";
    let waiting = |type_: &'static str, message: &'static str| {
        [type_, "False", "Warning", "WaitingForAvailableMachines", message]
    };
    let none = "Minimum availability requires 3 replicas, current 0 available";
    // Columns: MachineSets, the conditions Ready, Available and MachineSetReady.
    let rows = [
        (
            vec![],
            waiting("Ready", none),
            waiting("Available", none),
            ["MachineSetReady", "False", "Info", "WaitingForMachineSet", "MachineSet not found"],
        ),
        (
            vec![set("new", 1, (3, 3, 2), json!({}))],
            waiting("Ready", too_few),
            waiting("Available", too_few),
            ["MachineSetReady", "False", "Info", "WaitingForMachineSet", ""],
        ),
        (
            vec![set("new", 1, (3, 3, 3), json!({"/status/deprecated": ready}))],
            ["Ready", "True", "", "", ""],
            ["Available", "True", "", "", ""],
            ["MachineSetReady", "False", "Error", "PreflightCheckFailed", "why"],
        ),
    ];
    for (sets, first, second, third) in rows {
        let status = plan(&observed(&deployment(), sets)).wanted.status.unwrap();
        let conditions = status.deprecated.unwrap().v1beta1.unwrap().conditions;
        let text = |text: Option<String>| text.unwrap_or_default();
        let found: Vec<[String; 5]> = conditions
            .into_iter()
            .map(|it| [it.type_, it.status, text(it.severity), text(it.reason), text(it.message)])
            .collect();
        assert_eq!(found, [first, second, third]);
    }
}
