//! Status of a MachinePool.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use engine::object::is_deleting;
use engine::{Action, time};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{MachinePool, MachinePoolStatus};

use super::facts::{deprecated, is_managed_elsewhere, was_provisioned};
use super::observed::Observed;
use super::plan::Plan;
use super::{machines, nodes, v1beta1};
use engine::aggregates::count_true;
use engine::versions;

/// Sets the status of the wanted MachinePool.
pub fn set(plan: &mut Plan, observed: &Observed) {
    legacy_counters(plan, observed);
    let generation = plan.wanted.metadata.generation;
    let replicas = plan.wanted.spec.replicas;
    let status = plan.wanted.status.get_or_insert_default();
    status.observed_generation = generation;
    if has_machines(observed) {
        of_machines(status, observed);
    } else {
        status.ready_replicas = status.replicas;
        status.available_replicas = status.replicas;
        status.up_to_date_replicas = replicas;
        if let Some(nodes) = &observed.nodes {
            let own = nodes::own(nodes, &plan.wanted);
            let found = versions::count(own.iter().filter_map(|node| Some((kubelet(node)?, 1))));
            plan.wanted.status.get_or_insert_default().versions = found;
        }
    }
    phase(&mut plan.wanted);
    v1beta1::set(&mut plan.wanted, observed.now);
}

/// Returns whether the infrastructure has an object for each machine.
fn has_machines(observed: &Observed) -> bool {
    let infrastructure = observed.infrastructure.found();
    !observed.machines.is_empty()
        || infrastructure.is_some_and(|object| object.text("/status/infrastructureMachineKind").is_some())
}

fn of_machines(status: &mut MachinePoolStatus, observed: &Observed) {
    let machines = &observed.machines;
    status.ready_replicas = Some(count_true(machines, "Ready"));
    status.available_replicas = Some(count_true(machines, "Available"));
    status.up_to_date_replicas = Some(count_true(machines, machines::UP_TO_DATE));
    status.versions =
        versions::count(machines.iter().filter_map(|machine| Some((machine.spec.version.as_deref()?, 1))));
}

fn kubelet(node: &Node) -> Option<&str> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    Some(info.kubelet_version.as_str()).filter(|version| !version.is_empty())
}

/// Counts the Nodes that are ready, and those that have been ready for `minReadySeconds`, whose end is no event.
fn legacy_counters(plan: &mut Plan, observed: &Observed) {
    let Some(nodes) = &observed.nodes else { return };
    let own = nodes::own(nodes, &plan.wanted);
    let least = Duration::seconds(i64::from(plan.wanted.spec.template.spec.min_ready_seconds.unwrap_or(0)));
    let since: Vec<DateTime<Utc>> = own.iter().filter_map(ready_since).collect();
    let (available, waiting): (Vec<&DateTime<Utc>>, Vec<&DateTime<Utc>>) =
        since.iter().partition(|since| least.is_zero() || observed.now - **since >= least);
    if let Some(left) =
        waiting.iter().filter_map(|since| (**since + least - observed.now).to_std().ok()).min()
    {
        plan.action = plan.action.min(Action::requeue_after(left));
    }
    let replicas = plan.wanted.status.as_ref().and_then(|status| status.replicas).unwrap_or(0);
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let deprecated = deprecated(&mut plan.wanted);
    deprecated.ready_replicas = Some(number(since.len()));
    deprecated.available_replicas = Some(number(available.len()));
    deprecated.unavailable_replicas = Some(replicas.saturating_sub(number(available.len())).max(0));
}

fn ready_since(node: &Arc<Node>) -> Option<DateTime<Utc>> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready =
        conditions.iter().find(|condition| condition.type_ == "Ready" && condition.status == "True")?;
    Some(ready.last_transition_time.as_ref().map(time::utc).unwrap_or_default())
}

fn phase(pool: &mut MachinePool) {
    let status = pool.status.clone().unwrap_or_default();
    let deprecated = status.deprecated.and_then(|deprecated| deprecated.v1beta1).unwrap_or_default();
    let initialization = status.initialization.unwrap_or_default();
    let (wanted, ready) = (pool.spec.replicas.unwrap_or(1), deprecated.ready_replicas.unwrap_or(0));
    let phase = if is_deleting(pool) {
        "Deleting"
    } else if deprecated.failure_reason.is_some() || deprecated.failure_message.is_some() {
        "Failed"
    } else if !was_provisioned(pool) {
        if initialization.bootstrap_data_secret_created == Some(true) { "Provisioning" } else { "Pending" }
    } else if wanted == ready {
        "Running"
    } else if is_managed_elsewhere(pool) {
        "Scaling"
    } else if wanted > ready {
        "ScalingUp"
    } else {
        "ScalingDown"
    };
    pool.status.get_or_insert_default().phase = Some(phase.to_owned());
}
