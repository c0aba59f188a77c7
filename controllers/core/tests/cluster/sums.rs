//! The conditions of Clusters that sum up those of workers and Machines.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use cluster_core::cluster::Observed;
use schemas::cluster::{MachineDeployment, MachinePool, MachineSet};
use serde_json::{Value, json};

use super::conditions::{condition, of};
use super::{child, cluster, object, observed};
use crate::core::machine_set::machine;

fn with_conditions<T: schemas::FromJson>(name: &str, conditions: &[(&str, &str)]) -> Arc<T> {
    let conditions: Vec<Value> =
        conditions.iter().map(|(type_, status)| condition(type_, status, "Why")).collect();
    child(name, json!({"clusterName": "plain"}), json!({"conditions": conditions}))
}

#[test]
fn sums_over_workers() {
    let none = observed(&cluster());
    let expected = [
        ("WorkersAvailable", "True NoWorkers"),
        ("RollingOut", "False NotRollingOut"),
        ("ScalingUp", "False NotScalingUp"),
        ("ScalingDown", "False NotScalingDown"),
        ("WorkerMachinesReady", "True NoReplicas"),
        ("ControlPlaneMachinesReady", "True NoReplicas"),
        ("WorkerMachinesUpToDate", "True NoReplicas"),
        ("ControlPlaneMachinesUpToDate", "True NoReplicas"),
        ("Remediating", "False NotRemediating"),
    ];
    for (type_, text) in expected {
        assert_eq!(of(&none, type_), text, "{type_}");
    }
    let all =
        [("Available", "False"), ("RollingOut", "True"), ("ScalingUp", "True"), ("ScalingDown", "True")];
    // MachinePools are not part of these sums.
    let pools = Observed { pools: vec![with_conditions::<MachinePool>("mp", &all)], ..none.clone() };
    for (type_, text) in expected {
        assert_eq!(of(&pools, type_), text, "{type_}");
    }
    let md = with_conditions::<MachineDeployment>("md", &all);
    let deployments = Observed { deployments: vec![md], ..none.clone() };
    assert_eq!(of(&deployments, "WorkersAvailable"), "False NotAvailable * MachineDeployment md: Why");
    for type_ in ["RollingOut", "ScalingUp", "ScalingDown"] {
        assert!(
            of(&deployments, type_).starts_with(&format!("True {type_} * MachineDeployment md:")),
            "{type_}"
        );
    }
    let sets = Observed { sets: vec![with_conditions::<MachineSet>("ms", &all)], ..none.clone() };
    assert_eq!(of(&sets, "WorkersAvailable"), "True NoWorkers");
    assert_eq!(of(&sets, "RollingOut"), "False NotRollingOut");
    assert!(of(&sets, "ScalingUp").starts_with("True ScalingUp * MachineSet ms:"));
    let scaling = json!({"/status/conditions": [condition("ScalingUp", "True", "Why")]});
    let plane = Observed { control_plane: object("Plane", scaling), ..none };
    assert!(of(&plane, "ScalingUp").starts_with("True ScalingUp * Plane t:"));
    assert_eq!(of(&plane, "RollingOut"), "False NotRollingOut", "it does not report this one");
}

#[test]
fn sums_over_machines() {
    let sick = |name: &str, more: &[(&str, &str)], labels: Value| {
        let conditions: Vec<Value> =
            more.iter().map(|(type_, status)| condition(type_, status, "Why")).collect();
        machine(name, json!({"/status/conditions": conditions, "/metadata/labels": labels}))
    };
    let bad = &[("Ready", "False"), ("UpToDate", "False"), ("HealthCheckSucceeded", "False")];
    let mut observed = observed(&cluster());
    observed.worker_machines = vec![sick("of-pool", bad, json!({"cluster.x-k8s.io/pool-name": "mp"}))];
    for (type_, text) in [
        ("WorkerMachinesReady", "True NoReplicas"),
        ("WorkerMachinesUpToDate", "True NoReplicas"),
        ("Remediating", "False NotRemediating"),
    ] {
        assert_eq!(of(&observed, type_), text, "Machines of MachinePools do not count");
    }
    observed.worker_machines.push(sick("a", bad, json!({})));
    observed.control_plane_machines = vec![sick("cp", &[("Ready", "True")], json!({}))];
    assert!(of(&observed, "WorkerMachinesReady").starts_with("False NotReady * Machine a:"));
    assert!(of(&observed, "WorkerMachinesUpToDate").starts_with("False NotUpToDate * Machine a:"));
    assert_eq!(of(&observed, "ControlPlaneMachinesReady"), "True Ready");
    assert_eq!(
        of(&observed, "Remediating"),
        "False NotRemediating Machine a is not healthy (not to be remediated)"
    );
    observed.worker_machines.push(sick("b", &[("OwnerRemediated", "False")], json!({})));
    assert!(of(&observed, "Remediating").starts_with("True Remediating * Machine b:"));
    let young = json!({"/metadata/creationTimestamp": "2026-11-21T00:59:55Z"});
    observed.worker_machines = vec![machine("new", young)];
    assert_eq!(of(&observed, "WorkerMachinesUpToDate"), "True NoReplicas", "nobody had time to look");
    observed.worker_machines = vec![machine("old", json!({}))];
    assert!(of(&observed, "WorkerMachinesUpToDate").starts_with("Unknown UpToDateUnknown"));
}
