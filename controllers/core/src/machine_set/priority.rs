//! Selects the Machines to delete when a MachineSet is scaled down.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE};
use engine::in_place::is_in_progress;
use engine::names::DELETE_MACHINE;
use engine::object::{annotation, is_deleting};
use engine::time;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};

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
    let chosen = sorted(set, machines, now).into_iter().take(count);
    chosen.filter(|machine| !is_deleting(machine.as_ref())).cloned().collect()
}

/// Returns the Machines with the highest deletion priority first.
pub(super) fn sorted<'a>(
    set: &MachineSet,
    machines: &'a [Arc<Machine>],
    now: DateTime<Utc>,
) -> Vec<&'a Arc<Machine>> {
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
    rated.into_iter().map(|(_, machine)| machine).collect()
}

/// Returns the priority of a Machine if Machines are deleted in this order: those with the highest go first.
pub fn score(machine: &Machine, order: &str, now: DateTime<Utc>) -> f64 {
    if is_deleting(machine) {
        return DELETING;
    }
    if annotation(machine, DELETE_MACHINE).is_some() {
        return ASKED;
    }
    if is_in_progress(machine) {
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
