//! Selects the Machines to delete when a MachineSet is scaled down.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE};
use engine::object::{annotation, is_deleting};
use engine::time;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};

const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// Annotation on Machines that are being changed in place.
const UPDATE_IN_PROGRESS: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";
/// Time constant, in seconds, by which a Machine's age affects its score: ten days.
const AGE_SCALE: f64 = 864_000.0;
const DELETING: f64 = 100.0;
const ASKED: f64 = 80.0;
const UPDATING: f64 = 75.0;
const UNHEALTHY: f64 = 50.0;
const ANY: f64 = 20.0;

/// Returns the `count` Machines with the highest deletion priority, without those already being deleted;
/// these have the highest priority and count towards `count`.
pub fn choose(
    set: &MachineSet,
    machines: &[Arc<Machine>],
    count: usize,
    now: DateTime<Utc>,
) -> Vec<Arc<Machine>> {
    let order = set
        .spec
        .deletion
        .as_ref()
        .and_then(|deletion| deletion.order.as_deref())
        .unwrap_or(schemas::defaults::DELETION_ORDER);
    let mut rated: Vec<(f64, &Arc<Machine>)> =
        machines.iter().map(|machine| (score(machine, order, now), machine)).collect();
    rated.sort_by(|(a, first), (b, second)| {
        b.total_cmp(a).then_with(|| first.metadata.name.cmp(&second.metadata.name))
    });
    let chosen = rated.into_iter().take(count).map(|(_, machine)| machine);
    chosen.filter(|machine| !is_deleting(machine.as_ref())).cloned().collect()
}

fn score(machine: &Machine, order: &str, now: DateTime<Utc>) -> f64 {
    if is_deleting(machine) {
        return DELETING;
    }
    if annotation(machine, DELETE_MACHINE).is_some() {
        return ASKED;
    }
    if annotation(machine, UPDATE_IN_PROGRESS).is_some() {
        return UPDATING;
    }
    let has_node = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    let is_bad = |type_: &str| conditions::has(machine.conditions(), type_, FALSE);
    if !has_node || is_bad("NodeHealthy") || is_bad("HealthCheckSucceeded") {
        return UNHEALTHY;
    }
    match order {
        "Oldest" => oldest(machine, now),
        "Newest" => UNHEALTHY - oldest(machine, now),
        _ => ANY,
    }
}

/// Returns a score that grows with the Machine's age, up to that of unhealthy Machines.
fn oldest(machine: &Machine, now: DateTime<Utc>) -> f64 {
    let created = machine.metadata.creation_timestamp.as_ref().map(time::utc).unwrap_or(now);
    #[expect(clippy::cast_precision_loss, reason = "ages are far below 2^52 seconds")]
    let age = (now - created).num_seconds().max(0) as f64;
    UNHEALTHY * (1.0 - (-age / AGE_SCALE).exp())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

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
}
