//! What a change waits for.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta};
use firstlight::plan::view::View;
use firstlight::plan::waits::{Wait, Waits, remaining};
use serde_json::{Value, json};

fn set(name: &str, condition: Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"namespace": "default", "name": name}, "spec": {},
        "status": {"conditions": [condition]},
    })
}

#[test]
fn equal_waits_of_several_objects_are_one() {
    let mut waits = Waits::default();
    let at = |seconds: i64| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
    let blocked = json!({"type": "ScalingUp", "status": "True",
        "message": "Scaling up from 0 to 1 replicas is blocked because:\n* the control plane is upgrading"});
    let free = json!({"type": "ScalingUp", "status": "False"});
    waits.observe(at(0), "a", Some(&set("a", blocked.clone())));
    waits.observe(at(10), "b", Some(&set("b", blocked)));
    waits.observe(at(20), "a", Some(&set("a", free)));
    waits.observe(at(35), "b", None);
    let expected = Wait {
        kind: "MachineSet".to_owned(),
        cause: "the control plane is upgrading".to_owned(),
        objects: 2,
        seconds: 35,
    };
    assert_eq!(waits.finish(at(100)), [expected]);
}

#[test]
fn a_machine_that_is_deleted_waits_for_its_hooks_until_the_end() {
    let mut machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"namespace": "default", "name": "m", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {},
        "status": {"conditions": [{"type": "Deleting", "status": "True",
            "message": "Waiting for pre-drain hooks to succeed (hooks: a)"}]},
    });
    let mut waits = Waits::default();
    waits.observe(DateTime::UNIX_EPOCH, "m", Some(&machine));
    machine["metadata"]["labels"] = json!({"other": "label"});
    waits.observe(DateTime::UNIX_EPOCH + TimeDelta::seconds(3), "m", Some(&machine));
    let waits = waits.finish(DateTime::UNIX_EPOCH + TimeDelta::seconds(60));
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].cause, "Waiting for pre-drain hooks to succeed (hooks: a)");
    assert_eq!(waits[0].seconds, 60);
}

#[test]
fn only_the_clusters_of_the_change_must_be_at_rest() {
    let cluster = |name: &str, observed: i64| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"namespace": "default", "name": name, "generation": 2}, "spec": {"paused": true},
            "status": {"observedGeneration": observed, "conditions": [{"type": "Available", "status": "True"}]},
        })
    };
    let view = View::default().with([cluster("a", 1), cluster("b", 1), cluster("c", 2)]);
    let of = |name: &str| remaining(&view, &BTreeSet::from([format!("default/{name}")]));
    let found = of("a");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].object.as_str(), found[0].causes.join(";")),
        ("Cluster default/a", "it is paused".to_owned())
    );
    assert_eq!(of("c"), []);
    assert_eq!(remaining(&view, &BTreeSet::new()), []);
}
