//! Status and conditions of a MachineSet.

use std::sync::Arc;

use engine::conditions::{self, TRUE, is_false};
use engine::in_place::is_in_progress;
use engine::object::is_deleting;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet, MachineSetStatus};
use schemas::meta::Condition;

use super::observed::Observed;
use super::v1beta1;
use crate::scaling::Scaling;
use engine::aggregates::{count_true, machines_ready, machines_up_to_date, remediating};
use engine::selector;
use engine::versions;

/// Sets status and conditions of the wanted MachineSet. `blocked` has the reasons why no Machine may be
/// created.
pub fn set(set: &mut MachineSet, observed: &Observed, blocked: &[String]) {
    let generation = set.metadata.generation;
    let status = set.status.get_or_insert_default();
    counters(status, observed);
    v1beta1::set(status, observed, blocked);
    status.observed_generation = generation;
    let current = status.replicas.unwrap_or(0);
    let now = observed.now;
    let scaling = Scaling {
        replicas: observed.set.spec.replicas,
        is_deleting: is_deleting(observed.set.as_ref()),
        current,
        spec: &observed.set.spec.template.spec,
        bootstrap: &observed.bootstrap,
        infrastructure: &observed.infrastructure,
        blocked,
    };
    let all = [
        scaling.up(),
        scaling.down(),
        machines_ready("MachinesReady", &observed.machines),
        machines_up_to_date("MachinesUpToDate", &observed.machines, now),
        remediating(&observed.machines, " by MachineSet"),
        deleting(observed),
    ];
    for condition in all {
        conditions::set(set, now, condition);
    }
}

fn counters(status: &mut MachineSetStatus, observed: &Observed) {
    let machines = &observed.machines;
    let count = |is: &dyn Fn(&Machine) -> bool| {
        i32::try_from(machines.iter().filter(|machine| is(machine)).count()).unwrap_or(i32::MAX)
    };
    // The conditions of a Machine may be those of the time before its update began.
    let settled: Vec<Arc<Machine>> =
        machines.iter().filter(|machine| !is_in_progress(machine.as_ref())).cloned().collect();
    status.replicas = Some(count(&|_| true));
    status.ready_replicas = Some(count_true(&settled, "Ready"));
    status.available_replicas = Some(count_true(&settled, "Available"));
    status.up_to_date_replicas = Some(count_true(&settled, "UpToDate"));
    status.selector = Some(selector::text(&observed.set.spec.selector));
    status.versions =
        versions::count(machines.iter().filter_map(|machine| Some((machine.spec.version.as_deref()?, 1))));
    let labels = observed.set.spec.template.metadata.clone().unwrap_or_default().labels;
    let has_all = |machine: &Machine| {
        let own = machine.metadata.labels.as_ref();
        labels.iter().all(|(key, value)| own.and_then(|own| own.get(key)) == Some(value))
    };
    let deprecated = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    deprecated.fully_labeled_replicas = Some(count(&has_all));
    deprecated.ready_replicas = Some(count(&|machine| machine.condition_is_true("NodeReady")));
    deprecated.available_replicas = Some(count_true(machines, "Available"));
}

fn deleting(observed: &Observed) -> Condition {
    const TYPE: &str = "Deleting";
    if !is_deleting(observed.set.as_ref()) {
        return is_false(TYPE, "NotDeleting", "");
    }
    let message = match observed.machines.len() {
        0 => "Deletion completed".to_owned(),
        1 => "Deleting 1 Machine".to_owned(),
        count => format!("Deleting {count} Machines"),
    };
    conditions::new(TYPE, TRUE, TYPE, message)
}
