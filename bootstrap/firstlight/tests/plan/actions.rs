//! What changes of objects mean for the reader of a plan, as a table.

use std::sync::Arc;

use firstlight::plan::action::{Verb, action};
use firstlight::plan::view::{Change, View};
use serde_json::{Value, json};

fn machine(more: Value) -> Value {
    let mut machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"namespace": "default", "name": "m", "labels": {"cluster.x-k8s.io/deployment-name": "web"}},
        "spec": {"clusterName": "blue", "version": "v1.35.0"},
    });
    merge(&mut machine, &more);
    machine
}

/// Adds the fields of `more` to `object`, also below those that it has.
fn merge(object: &mut Value, more: &Value) {
    match (object, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (name, value) in more {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (object, more) => *object = more.clone(),
    }
}

fn of(old: Option<Value>, new: Option<Value>) -> Option<(Verb, String)> {
    action(
        &Change { key: "key".to_owned(), old: old.map(Arc::new), new: new.map(Arc::new) },
        &View::default(),
    )
}

#[test]
fn machines_come_and_go_for_a_reason() {
    let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let false_condition = |type_: &str, message: &str| json!({"status": {"conditions": [{"type": type_, "status": "False", "message": message}]}});
    let outdated = machine(false_condition("UpToDate", "* Version v1.35.0, v1.36.0 required"));
    let with = |object: &Value| {
        let mut object = object.clone();
        merge(&mut object, &going);
        object
    };
    let rows = [
        (None, Some(machine(json!({}))), Verb::Create, "version v1.35.0, MachineDeployment web"),
        (Some(outdated.clone()), Some(with(&outdated)), Verb::Delete, "Version v1.35.0, v1.36.0 required"),
        (Some(machine(json!({}))), Some(with(&machine(json!({})))), Verb::Delete, "scaled down"),
        (Some(machine(json!({}))), None, Verb::Delete, "scaled down"),
        (
            Some(machine(json!({}))),
            Some(machine(json!({"spec": {"version": "v1.36.0"}}))),
            Verb::Update,
            "version v1.35.0 → v1.36.0",
        ),
    ];
    for (old, new, verb, reason) in rows {
        assert_eq!(of(old, new), Some((verb, reason.to_owned())));
    }
}

#[test]
fn an_unhealthy_machine_is_deleted_as_such_whatever_its_version() {
    let conditions = json!({"status": {"conditions": [
        {"type": "UpToDate", "status": "False", "message": "* Version v1.35.0, v1.36.0 required"},
        {"type": "HealthCheckSucceeded", "status": "False", "message": "Health check failed: Node is gone"},
        {"type": "OwnerRemediated", "status": "False", "message": ""},
    ]}});
    let expected = "unhealthy: Health check failed: Node is gone";
    assert_eq!(of(Some(machine(conditions)), None), Some((Verb::Delete, expected.to_owned())));
}

#[test]
fn another_template_is_a_rotation() {
    let deployment = |version: &str, template: &str| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {"replicas": 3, "template": {"spec": {
                "version": version,
                "infrastructureRef": {"kind": "DevMachineTemplate", "name": template},
            }}},
        })
    };
    let rows = [
        (deployment("v1.36.0", "b"), Some((Verb::Rotate, "DevMachineTemplate a → b"))),
        (
            deployment("v1.36.1", "b"),
            Some((Verb::Rotate, "version v1.36.0 → v1.36.1, DevMachineTemplate a → b")),
        ),
        (deployment("v1.36.1", "a"), Some((Verb::Update, "version v1.36.0 → v1.36.1"))),
        (deployment("v1.36.0", "a"), None),
    ];
    for (new, expected) in rows {
        let expected = expected.map(|(verb, reason)| (verb, reason.to_owned()));
        assert_eq!(of(Some(deployment("v1.36.0", "a")), Some(new)), expected);
    }
}

#[test]
fn what_controllers_fill_in_and_parts_of_machines_are_not_told() {
    let reference = json!({"name": "m"});
    let new = machine(json!({"spec": {"bootstrap": {"configRef": reference}}}));
    let provided =
        json!({"spec": {"providerID": "id", "bootstrap": {"configRef": reference, "dataSecretName": "m"}}});
    assert_eq!(of(Some(new), Some(machine(provided))), None);
    for label in ["cluster.x-k8s.io/set-name", "cluster.x-k8s.io/control-plane"] {
        let part = json!({
            "apiVersion": "infrastructure.example/v1", "kind": "CloudMachine",
            "metadata": {"namespace": "default", "name": "m", "labels": {label: ""}},
        });
        assert_eq!(of(None, Some(part)), None);
    }
    let template = json!({
        "apiVersion": "infrastructure.example/v1", "kind": "CloudMachineTemplate",
        "metadata": {"namespace": "default", "name": "t"},
    });
    assert_eq!(of(None, Some(template)), Some((Verb::Create, String::new())));
}

#[test]
fn many_fields_are_counted() {
    let with = |value: i64| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
            "metadata": {"namespace": "default", "name": "m"},
            "spec": {"a": value, "b": value, "c": value, "d": value, "replicas": value},
        })
    };
    let (_, reason) = of(Some(with(1)), Some(with(2))).unwrap();
    assert_eq!(reason, "replicas 1 → 2, a 1 → 2, b 1 → 2, 2 more fields");
}
