//! The conditions of Clusters, row by row.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use chrono::Duration;
use cluster_core::Reference;
use cluster_core::cluster::{Observed, plan};
use engine::Health;
use schemas::HasConditions;
use serde_json::{Value, json};

use super::{cluster, object, observed};
use crate::core::machine_set::{machine, now, with};

/// Status, reason and message of a condition of the planned Cluster.
pub fn of(observed: &Observed, type_: &str) -> String {
    let plan = plan(observed);
    let condition = plan.wanted.condition(type_).unwrap();
    format!("{} {} {}", condition.status, condition.reason, condition.message).trim_end().to_owned()
}

pub fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-11-21T00:30:00Z"})
}

fn topology() -> Value {
    let topology = json!({"classRef": {"name": "c"}, "version": "v1.36.0"});
    with(
        cluster(),
        json!({"/spec/topology": topology, "/spec/infrastructureRef": null, "/spec/controlPlaneRef": null}),
    )
}

fn going(cluster: Value) -> Value {
    with(
        cluster,
        json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": ["x"]}),
    )
}

fn fresh(cluster: Value) -> Value {
    with(cluster, json!({"/status": {}}))
}

#[test]
fn infrastructure_and_control_plane() {
    const INTERNAL: &str = "Unknown InternalError Please check controller logs for errors";
    const WAITS: &str = "False ObjectDoesNotExist Waiting for cluster topology to be reconciled";
    let says = |type_: &str, status: &str, reason: &str| json!({"/status/conditions": [condition(type_, status, reason)]});
    let not_yet = || json!({"/status/initialization": {}});
    let bad = || json!({"/status/conditions": "x"});
    let none = || Reference::None;
    let failed = || Reference::Failed("refused".to_owned());
    let gone = || Reference::NotFound;
    let infra = |more| object("Infra", more);
    let plane = |more| object("Plane", more);
    // Columns: Cluster, infrastructure, control plane, InfrastructureReady, ControlPlaneAvailable.
    let rows: Vec<(Value, Reference, Reference, &str, &str)> = vec![
        (cluster(), infra(json!({})), plane(json!({})), "True Ready", "True Available"),
        (
            cluster(),
            infra(says("Ready", "False", "Slow")),
            plane(says("Available", "Unknown", "Lost")),
            "False Slow",
            "Unknown Lost",
        ),
        (
            cluster(),
            infra(says("Ready", "True", "NoReasonReported")),
            plane(says("Available", "True", "NoReasonReported")),
            "True Ready",
            "True Available",
        ),
        (
            fresh(cluster()),
            infra(not_yet()),
            plane(not_yet()),
            "False NotReady Infra status.initialization.provisioned is false",
            "False NotAvailable Plane status.initialization.controlPlaneInitialized is false",
        ),
        (
            cluster(),
            gone(),
            gone(),
            "False ObjectDeleted Infra has been deleted",
            "False ObjectDeleted Plane has been deleted",
        ),
        (
            going(cluster()),
            gone(),
            gone(),
            "False ObjectDeleted Infra has been deleted",
            "False ObjectDeleted Plane has been deleted",
        ),
        (
            fresh(cluster()),
            gone(),
            gone(),
            "False ObjectDoesNotExist Infra does not exist",
            "False ObjectDoesNotExist Plane does not exist",
        ),
        (cluster(), failed(), failed(), "Unknown InternalError refused", "Unknown InternalError refused"),
        (cluster(), none(), none(), INTERNAL, INTERNAL),
        (topology(), none(), none(), WAITS, WAITS),
        (going(topology()), none(), none(), "False ObjectDoesNotExist", "False ObjectDoesNotExist"),
    ];
    for (cluster, infrastructure, control_plane, ready, available) in rows {
        let observed = Observed { infrastructure, control_plane, ..observed(&cluster) };
        assert_eq!(of(&observed, "InfrastructureReady"), ready);
        assert_eq!(of(&observed, "ControlPlaneAvailable"), available);
    }
    let observed =
        Observed { infrastructure: infra(bad()), control_plane: plane(bad()), ..observed(&cluster()) };
    assert!(of(&observed, "InfrastructureReady").starts_with("Unknown InvalidConditionReported"));
    assert!(of(&observed, "ControlPlaneAvailable").starts_with("Unknown InvalidConditionReported"));
}

#[test]
fn control_plane_initialized() {
    const INTERNAL: &str = "Unknown InternalError Please check controller logs for errors";
    let alone = || with(fresh(cluster()), json!({"/spec/controlPlaneRef": null}));
    let was = with(
        fresh(cluster()),
        json!({"/status/conditions": [condition("ControlPlaneInitialized", "True", "Initialized")]}),
    );
    let infra = || object("Infra", json!({}));
    let not_yet = || object("Plane", json!({"/status/initialization": {}}));
    let none = || Reference::None;
    // Columns: Cluster, infrastructure, control plane, nodes of control plane Machines, the condition.
    let rows: Vec<(Value, Reference, Reference, usize, &str)> = vec![
        (fresh(cluster()), infra(), object("Plane", json!({})), 0, "True Initialized"),
        (fresh(cluster()), infra(), not_yet(), 0, "False NotInitialized Control plane not yet initialized"),
        (was, infra(), not_yet(), 0, "True Initialized"),
        (fresh(cluster()), infra(), Reference::NotFound, 0, INTERNAL),
        (
            fresh(cluster()),
            Reference::NotFound,
            Reference::NotFound,
            0,
            "Unknown ObjectDoesNotExist Plane does not exist",
        ),
        (
            fresh(topology()),
            none(),
            none(),
            0,
            "Unknown ObjectDoesNotExist Waiting for cluster topology to be reconciled",
        ),
        (
            alone(),
            infra(),
            none(),
            0,
            "False NotInitialized Waiting for the first control plane machine to have status.nodeRef set",
        ),
        (alone(), infra(), none(), 1, "True Initialized"),
    ];
    for (cluster, infrastructure, control_plane, nodes, expected) in rows {
        let control_plane_machines = (0..nodes).map(|_| machine("a", json!({}))).collect();
        let observed =
            Observed { infrastructure, control_plane, control_plane_machines, ..observed(&cluster) };
        assert_eq!(of(&observed, "ControlPlaneInitialized"), expected);
    }
}

#[test]
fn remote_connection() {
    const NOT_YET: &str = "False ProbeFailed Remote connection not established yet";
    let before = with(
        cluster(),
        json!({"/status/conditions": [condition("RemoteConnectionProbe", "True", "ProbeSucceeded")]}),
    );
    let at = |seconds: i64| Some(now() - Duration::seconds(seconds));
    let stale =
        "False ProbeFailed Remote connection probe failed, probe last succeeded at 2026-11-21T00:59:09Z";
    // Columns: Cluster, last success, failures since, the condition.
    let rows = [
        (cluster(), None, 0, NOT_YET),
        (cluster(), None, 5, NOT_YET),
        (before.clone(), None, 4, "True ProbeSucceeded"),
        (before.clone(), None, 5, NOT_YET),
        (cluster(), at(0), 0, "True ProbeSucceeded"),
        (cluster(), at(50), 3, "True ProbeSucceeded"),
        (before, at(51), 3, stale),
    ];
    for (cluster, last_success, failures, expected) in rows {
        let health = Health { connected: failures == 0, last_success, failures };
        assert_eq!(of(&Observed { health, ..observed(&cluster) }, "RemoteConnectionProbe"), expected);
    }
    let unusable = Observed {
        health: Health::default(),
        connection_problem: Some("Secret plain-kubeconfig: it is not valid YAML or JSON".to_owned()),
        ..observed(&cluster())
    };
    let expected = "False ProbeFailed Remote connection not established yet\n\
                    * Secret plain-kubeconfig: it is not valid YAML or JSON";
    assert_eq!(of(&unusable, "RemoteConnectionProbe"), expected);
    let refused = "connection refused: nothing listens at 10.0.0.7:6443";
    let silent = Observed {
        health: Health { connected: false, last_success: at(51), failures: 5 },
        connection_problem: Some(refused.to_owned()),
        ..observed(&cluster())
    };
    assert_eq!(of(&silent, "RemoteConnectionProbe"), format!("{stale}\n* {refused}"));
}

#[test]
fn available() {
    let gate = json!({"/spec/availabilityGates": [{"conditionType": "Mine"}, {"conditionType": "Bad", "polarity": "Negative"}]});
    let having =
        |conditions: Value| with(with(cluster(), gate.clone()), json!({"/status/conditions": conditions}));
    let topology = |reason: &str| {
        with(cluster(), json!({"/status/conditions": [condition("TopologyReconciled", "False", reason)]}))
    };
    let gone = || Observed {
        infrastructure: Reference::NotFound,
        control_plane: Reference::NotFound,
        ..observed(&going(cluster()))
    };
    // Columns: what, observed state, status and reason of Available, a line of its message.
    let rows = [
        ("all is well", observed(&cluster()), "True Available", ""),
        (
            "no condition of a gate",
            observed(&having(json!([]))),
            "Unknown AvailableUnknown",
            "* Mine: Condition not yet reported",
        ),
        (
            "a gate is bad",
            observed(&having(json!([condition("Mine", "False", "Why"), condition("Bad", "False", "Why")]))),
            "False NotAvailable",
            "* Mine:",
        ),
        (
            "a negative gate is bad",
            observed(&having(json!([condition("Mine", "True", "Why"), condition("Bad", "True", "Why")]))),
            "False NotAvailable",
            "* Bad:",
        ),
        (
            "the topology failed",
            observed(&topology("ReconcileFailed")),
            "False NotAvailable",
            "* TopologyReconciled:",
        ),
        (
            "the class is not reconciled",
            observed(&topology("ClusterClassNotReconciled")),
            "False NotAvailable",
            "* TopologyReconciled:",
        ),
        ("the topology is upgraded", observed(&topology("ClusterUpgrading")), "True Available", ""),
        ("in deletion", gone(), "False NotAvailable", "* Deleting:"),
    ];
    for (what, observed, status, line) in rows {
        let found = of(&observed, "Available");
        assert!(found.starts_with(status), "{what}: {found}");
        assert!(found.contains(line), "{what}: {found}");
    }
    let found = of(&gone(), "Available");
    assert!(!found.contains("InfrastructureReady"), "what is deleted already is no issue: {found}");
}

#[test]
fn availability_gates_of_the_class_count_unless_the_cluster_has_its_own() {
    let class = json!({"spec": {"availabilityGates": [{"conditionType": "OfClass"}]}});
    let own = json!({"/spec/availabilityGates": [{"conditionType": "Own"}]});
    let rows = [(cluster(), "* OfClass:"), (with(cluster(), own), "* Own:")];
    for (cluster, line) in rows {
        let observed =
            Observed { class: Some(crate::core::machine_set::parse(&class)), ..observed(&cluster) };
        let plan = plan(&observed);
        let message = &plan.wanted.condition("Available").unwrap().message;
        assert!(message.starts_with(line) && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn older_clients_see_what_the_topology_reports() {
    let rows = [
        (("True", "ReconcileSucceeded"), ("True", Value::Null, Value::Null)),
        (("False", "ReconcileFailed"), ("False", json!("Error"), json!("TopologyReconcileFailed"))),
        (("False", "ClusterUpgrading"), ("False", json!("Info"), json!("ClusterUpgrading"))),
    ];
    for ((status, reason), expected) in rows {
        let conditions = json!({"/status/conditions": [condition("TopologyReconciled", status, reason)]});
        let plan = plan(&observed(&with(cluster(), conditions)));
        let status = serde_json::to_value(plan.wanted.status.unwrap()).unwrap();
        let all = status["deprecated"]["v1beta1"]["conditions"].as_array().unwrap();
        let found = all.iter().find(|condition| condition["type"] == "TopologyReconciled").unwrap();
        let found = (found["status"].as_str().unwrap(), found["severity"].clone(), found["reason"].clone());
        assert_eq!(found, expected);
    }
}

#[test]
fn conditions_for_older_clients() {
    let not_yet = |kind: &str| object(kind, json!({"/status/initialization": {}}));
    let waits = [
        "ControlPlaneInitialized False WaitingForControlPlaneProviderInitialized",
        "ControlPlaneReady False WaitingForControlPlane",
        "InfrastructureReady False WaitingForInfrastructure",
    ];
    let all_true = ["ControlPlaneInitialized True", "ControlPlaneReady True", "InfrastructureReady True"];
    let deleting = [
        "ControlPlaneInitialized True",
        "ControlPlaneReady False Deleting",
        "InfrastructureReady False Deleting",
    ];
    let deleted = [
        "ControlPlaneInitialized True",
        "ControlPlaneReady False Deleted",
        "InfrastructureReady False Deleted",
    ];
    let alone =
        with(fresh(cluster()), json!({"/spec/controlPlaneRef": null, "/spec/infrastructureRef": null}));
    let before = json!({"v1beta1": {"conditions": [{"type": "ControlPlaneInitialized", "status": "True", "lastTransitionTime": "2026-11-21T00:30:00Z"}]}});
    let initialized = || with(going(cluster()), json!({"/status/deprecated": before}));
    let none = || Reference::None;
    let gone = || Reference::NotFound;
    // Columns: Cluster, infrastructure, control plane, Ready, the other conditions.
    let rows: Vec<(Value, Reference, Reference, &str, Vec<&str>)> = vec![
        (
            fresh(cluster()),
            not_yet("Infra"),
            not_yet("Plane"),
            "Ready False WaitingForControlPlane",
            waits.to_vec(),
        ),
        (
            fresh(cluster()),
            object("Infra", json!({})),
            object("Plane", json!({})),
            "Ready True",
            all_true.to_vec(),
        ),
        (
            alone,
            none(),
            none(),
            "Ready True",
            vec!["ControlPlaneInitialized False MissingNodeRef", "InfrastructureReady True"],
        ),
        (
            initialized(),
            object("Infra", json!({})),
            object("Plane", json!({})),
            "Ready False Deleting",
            deleting.to_vec(),
        ),
        (initialized(), gone(), gone(), "Ready False Deleted", deleted.to_vec()),
    ];
    for (cluster, infrastructure, control_plane, ready, others) in rows {
        let plan = plan(&Observed { infrastructure, control_plane, ..observed(&cluster) });
        let conditions = plan.wanted.status.unwrap().deprecated.unwrap().v1beta1.unwrap().conditions;
        let found: Vec<String> = conditions
            .iter()
            .map(|it| {
                format!("{} {} {}", it.type_, it.status, it.reason.clone().unwrap_or_default())
                    .trim_end()
                    .to_owned()
            })
            .collect();
        assert_eq!(found, [vec![ready], others].concat());
    }
}
