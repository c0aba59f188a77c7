//! The conditions of a Cluster that sum up those of its workers and Machines.

use std::sync::Arc;

use engine::conditions::{self, Reasons, Source, is_false, is_true};
use engine::owners;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use super::observe::is_of_pool;
use super::observed::Observed;
use engine::aggregates::{machines_ready, machines_up_to_date, remediating};

/// Returns these conditions.
pub fn all(observed: &Observed) -> Vec<Condition> {
    let mut all = vec![workers(observed)];
    all.extend(machines(observed));
    all.extend(scaling(observed));
    all
}

fn deployment_sources(observed: &Observed) -> Vec<Source<'_>> {
    observed
        .deployments
        .iter()
        .map(|deployment| Source {
            kind: "MachineDeployment",
            name: deployment.metadata.name.as_deref().unwrap_or_default(),
            is_control_plane: false,
            conditions: deployment.conditions(),
        })
        .collect()
}

fn workers(observed: &Observed) -> Condition {
    let sources = deployment_sources(observed);
    let reasons = Reasons { issue: "NotAvailable", unknown: "AvailableUnknown", info: "Available" };
    if sources.is_empty() {
        is_true("WorkersAvailable", "NoWorkers")
    } else {
        conditions::aggregate("WorkersAvailable", "Available", false, &reasons, &sources)
    }
}

fn machines(observed: &Observed) -> Vec<Condition> {
    // MachinePools report about their Machines.
    let workers = observed.worker_machines.iter().filter(|machine| !is_of_pool(machine));
    let workers: Vec<Arc<Machine>> = workers.cloned().collect();
    let all: Vec<_> = observed.control_plane_machines.iter().chain(&workers).cloned().collect();
    let now = observed.now;
    vec![
        machines_ready("ControlPlaneMachinesReady", &observed.control_plane_machines),
        machines_ready("WorkerMachinesReady", &workers),
        machines_up_to_date("ControlPlaneMachinesUpToDate", &observed.control_plane_machines, now),
        machines_up_to_date("WorkerMachinesUpToDate", &workers, now),
        remediating(&all, ""),
    ]
}

fn scaling(observed: &Observed) -> Vec<Condition> {
    let rows = [
        (
            "RollingOut",
            Reasons { issue: "RollingOut", unknown: "RollingOutUnknown", info: "NotRollingOut" },
            false,
        ),
        (
            "ScalingUp",
            Reasons { issue: "ScalingUp", unknown: "ScalingUpUnknown", info: "NotScalingUp" },
            true,
        ),
        (
            "ScalingDown",
            Reasons { issue: "ScalingDown", unknown: "ScalingDownUnknown", info: "NotScalingDown" },
            true,
        ),
    ];
    let cluster = engine::object::uid(observed.cluster.as_ref());
    let mut all = Vec::new();
    for (type_, reasons, with_sets) in rows {
        let control_plane: Vec<Condition> = observed
            .control_plane
            .found()
            .and_then(|object| conditions::read(&object.object.data, type_).ok().flatten())
            .into_iter()
            .collect();
        let mut sources = Vec::new();
        if let (Some(object), false) = (observed.control_plane.found(), control_plane.is_empty()) {
            let name = object.object.metadata.name.as_deref().unwrap_or_default();
            let kind = &object.resource.kind;
            sources.push(Source { kind, name, is_control_plane: false, conditions: &control_plane });
        }
        sources.extend(deployment_sources(observed));
        if with_sets {
            let sets = observed.sets.iter().filter(|set| owners::is_owned_by(set.as_ref(), cluster));
            sources.extend(sets.map(|set| Source {
                kind: "MachineSet",
                name: set.metadata.name.as_deref().unwrap_or_default(),
                is_control_plane: false,
                conditions: set.conditions(),
            }));
        }
        all.push(if sources.is_empty() {
            is_false(type_, reasons.info, "")
        } else {
            conditions::aggregate(type_, type_, true, &reasons, &sources)
        });
    }
    all
}
