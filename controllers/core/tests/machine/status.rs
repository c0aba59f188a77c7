//! The conditions of a Machine about its Node, and its readiness.

use std::sync::Arc;

use cluster_core::machine;
use schemas::HasConditions;
use serde_json::{Value, json};

use super::{bare, running};

#[test]
fn the_conditions_of_a_node_are_summarized() {
    let row = |list: &[(&str, &str, &str)]| {
        let conditions: Vec<Value> = list
            .iter()
            .map(|(type_, status, message)| json!({"type": type_, "status": status, "message": message}))
            .collect();
        json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}, "status": {"conditions": conditions}})
    };
    let (ready, memory, disk, pid) = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure");
    let rows = [
        (
            row(&[(ready, "True", ""), (memory, "False", ""), (disk, "False", ""), (pid, "False", "")]),
            "NodeHealthy",
            "",
        ),
        (
            row(&[(ready, "True", ""), (memory, "True", "full"), (disk, "False", ""), (pid, "Unknown", "")]),
            "NodeNotHealthy",
            "* Node.MemoryPressure: full\n* Node.PIDPressure: Condition is Unknown",
        ),
        (
            row(&[
                (ready, "Unknown", "silent"),
                (memory, "Unknown", "silent"),
                (disk, "Unknown", "silent"),
                (pid, "Unknown", "silent"),
            ]),
            "NodeHealthyUnknown",
            "* Node.AllConditions: silent",
        ),
        (
            row(&[(ready, "True", ""), (memory, "False", ""), (disk, "False", "")]),
            "NodeHealthyUnknown",
            "* Node.PIDPressure: Condition not yet reported",
        ),
    ];
    for (node, reason, message) in rows {
        let mut observed = running(json!({}), json!({}), node);
        Arc::make_mut(&mut observed.cluster).status = serde_json::from_value(json!({
            "initialization": {"infrastructureProvisioned": true},
            "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}))
        .unwrap();
        let machine = machine::plan(&observed).machine;
        let condition = machine.condition("NodeHealthy").unwrap();
        assert_eq!((condition.reason.as_str(), condition.message.as_str()), (reason, message));
    }
}

/// A readiness gate counts by its polarity, and a missing condition is unknown.
#[test]
fn readiness_gates_decide_about_ready() {
    let rows = [
        ("Positive", Some("True"), true),
        ("Positive", Some("False"), false),
        ("Negative", Some("True"), false),
        ("Negative", Some("False"), true),
        ("Positive", None, false),
    ];
    for (polarity, status, good) in rows {
        let gate = json!({"readinessGates": [{"conditionType": "Gate", "polarity": polarity}]});
        let mut observed = running(json!({}), gate, bare());
        let gate = status.map(|status| {
            json!({"type": "Gate", "status": status, "reason": "X", "message": "",
            "lastTransitionTime": "2026-11-20T00:00:00Z"})
        });
        let machine = Arc::make_mut(&mut observed.machine).status.as_mut().unwrap();
        machine.conditions = serde_json::from_value(json!(gate.into_iter().collect::<Vec<_>>())).unwrap();
        let plan = machine::plan(&observed).machine;
        let message = plan.condition("Ready").unwrap().message.clone();
        assert_eq!(!message.contains("Gate"), good, "{polarity} {status:?}: {message}");
    }
}

#[test]
fn components_that_say_the_same_are_one_line() {
    let ready = |conditions: &[(&str, &str)]| {
        let gates: Vec<Value> = conditions.iter().map(|(type_, _)| json!({"conditionType": type_})).collect();
        let mut observed = running(json!({}), json!({"readinessGates": gates}), bare());
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(type_, message)| {
                json!({"type": type_, "status": "False", "reason": "X", "message": message,
                    "lastTransitionTime": "2026-11-20T00:00:00Z"})
            })
            .collect();
        let machine = Arc::make_mut(&mut observed.machine).status.as_mut().unwrap();
        machine.conditions = serde_json::from_value(json!(conditions)).unwrap();
        let message = machine::plan(&observed).machine.condition("Ready").unwrap().message.clone();
        let (node, components) = message.split_once('\n').unwrap();
        assert!(node.starts_with("* NodeHealthy: "), "{message}");
        components.to_owned()
    };
    let same = ready(&[
        ("APIServerPodHealthy", "gone"),
        ("ControllerManagerPodHealthy", "gone"),
        ("EtcdPodHealthy", "gone"),
        ("EtcdMemberHealthy", "gone"),
    ]);
    assert_eq!(same, "* Control plane components: gone\n* EtcdMemberHealthy: gone");
    let different = ready(&[("APIServerPodHealthy", "a"), ("EtcdPodHealthy", "b")]);
    assert_eq!(different, "* APIServerPodHealthy: a\n* EtcdPodHealthy: b");
}

/// Control plane Machines show when their certificates expire: by their own annotation, or else by that of
/// their bootstrap object.
#[test]
fn certificates_expire() {
    const EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
    let control_plane = json!({"cluster.x-k8s.io/control-plane": ""});
    let rows = [
        (json!({}), json!({EXPIRY: "2027-01-01T00:00:00Z"}), None),
        (control_plane.clone(), json!({EXPIRY: "2027-01-01T00:00:00Z"}), Some("2027-01-01T00:00:00Z")),
        (control_plane.clone(), json!({EXPIRY: "soon"}), None),
        (control_plane, json!({}), None),
    ];
    for (labels, annotations, expected) in rows {
        let observed = running(json!({"labels": labels, "annotations": annotations}), json!({}), bare());
        let status = machine::plan(&observed).machine.status.unwrap();
        assert_eq!(status.certificates_expiry_date.as_deref(), expected);
    }
}

/// A Machine that has been ready since a time to come, written by a clock that was ahead.
#[test]
fn readiness_that_begins_in_the_future() {
    let ready = |since: &str| {
        json!({"nodeRef": {"name": "m"}, "conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": since}]})
    };
    // Columns: since when it is ready, minReadySeconds, status of Available, seconds to the next look.
    for (since, seconds, status, next) in [
        ("2026-11-21T01:00:00Z", 0, "True", None),
        ("2026-11-21T01:00:00Z", 60, "False", Some(3660)),
        ("2026-11-20T23:59:30Z", 60, "False", Some(30)),
    ] {
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
        let node = json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}, "status": {"conditions": [
            condition("Ready", "True"), condition("MemoryPressure", "False"),
            condition("DiskPressure", "False"), condition("PIDPressure", "False")]}});
        let mut observed = running(json!({}), json!({"minReadySeconds": seconds}), node);
        observed.health.last_success = Some(observed.now);
        Arc::make_mut(&mut observed.machine).status = serde_json::from_value(ready(since)).unwrap();
        Arc::make_mut(&mut observed.cluster).status = serde_json::from_value(json!({
            "initialization": {"infrastructureProvisioned": true},
            "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}))
        .unwrap();
        let plan = machine::plan(&observed);
        assert_eq!(plan.machine.condition("Available").unwrap().status, status, "{since} {seconds}");
        assert_eq!(plan.action.requeue_after.map(|delay| delay.as_secs()), next, "{since} {seconds}");
    }
}
