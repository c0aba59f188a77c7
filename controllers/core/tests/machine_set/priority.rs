//! The order in which Machines are deleted.

use std::sync::Arc;

use cluster_core::machine_set::priority::{choose, score};
use engine::in_place::UPDATE_IN_PROGRESS;
use engine::names::DELETE_MACHINE;
use schemas::cluster::{Machine, MachineSet};
use serde_json::{Value, json};

fn machine(name: &str, created: &str, more: Value) -> Arc<Machine> {
    let mut value = json!({"metadata": {"name": name, "creationTimestamp": created},
        "status": {"nodeRef": {"name": name}}});
    for (pointer, more) in more.as_object().unwrap() {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        value.pointer_mut(parent).unwrap()[key] = more.clone();
    }
    Arc::new(serde_json::from_value(value).unwrap())
}

#[test]
fn order_of_deletion() {
    let now = machinery::clock::parse_rfc3339("2026-01-10T00:00:00Z").unwrap();
    let failing = |type_: &str| json!({"/status/conditions": [{"type": type_, "status": "False"}]});
    let day = "2026-01-05T00:00:00Z";
    let machines = [
        machine("b-old", "2026-01-01T00:00:00Z", json!({})),
        machine("a-new", "2026-01-09T00:00:00Z", json!({})),
        machine("c-asked", day, json!({"/metadata/annotations": {DELETE_MACHINE: ""}})),
        machine("f-updating", day, json!({"/metadata/annotations": {UPDATE_IN_PROGRESS: ""}})),
        machine("d-no-node", day, json!({"/status/nodeRef": null})),
        machine("g-sick-node", day, failing("NodeHealthy")),
        machine("h-failed-check", day, failing("HealthCheckSucceeded")),
        machine("e-going", day, json!({"/metadata/deletionTimestamp": "2026-01-09T00:00:00Z"})),
    ];
    let names = |order: &str, count: usize| -> Vec<String> {
        let set: MachineSet =
            serde_json::from_value(json!({"spec": {"deletion": {"order": order}}})).unwrap();
        let chosen = choose(&set, &machines, count, now);
        chosen.iter().map(|machine| machine.metadata.name.clone().unwrap()).collect()
    };
    let first = ["c-asked", "f-updating", "d-no-node", "g-sick-node", "h-failed-check"];
    assert_eq!(names("Random", 1), Vec::<String>::new(), "one goes already");
    assert_eq!(names("Random", 6), first);
    for (order, next) in [("Random", "a-new"), ("Oldest", "b-old"), ("Newest", "a-new"), ("", "a-new")] {
        assert_eq!(names(order, 7).last().unwrap(), next, "{order}");
    }
}

#[test]
fn scores() {
    let now = machinery::clock::parse_rfc3339("2026-01-11T00:00:00Z").unwrap();
    // Columns: when the Machine was created, its scores in the orders Oldest and Newest.
    for (created, first, second) in [
        ("2026-01-11T00:00:00Z", 0.0, 50.0),
        ("2026-01-12T00:00:00Z", 0.0, 50.0),
        ("2026-01-01T00:00:00Z", 31.606, 18.394),
    ] {
        let machine = machine("a", created, json!({}));
        let is_near = |order: &str, expected: f64| (score(&machine, order, now) - expected).abs() < 0.001;
        assert!(is_near("Oldest", first) && is_near("Newest", second), "{created}");
        assert!(is_near("Random", 20.0));
    }
}
