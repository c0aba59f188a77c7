//! Status and conditions of a MachineDeployment.

use std::collections::BTreeMap;

use engine::conditions::{self, FALSE, TRUE, is_false, is_true, is_unknown};
use engine::object::is_deleting;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::HasConditions;
use schemas::cluster::{MachineDeployment, MachineDeploymentStatus, MachineSet, MachineSetStatus};
use schemas::meta::Condition;

use super::facts::{Split, is_on_delete, limits};
use super::observed::Observed;
use super::v1beta1;
use crate::scaling::Scaling;
use engine::aggregates::{machines_ready, machines_up_to_date, remediating};
use engine::selector;
use engine::versions;

/// Sets status and conditions of the wanted MachineDeployment.
pub fn set(deployment: &mut MachineDeployment, observed: &Observed, split: &Split) {
    let generation = deployment.metadata.generation;
    counters(deployment.status.get_or_insert_default(), observed, split);
    let status = deployment.status.get_or_insert_default();
    v1beta1::set(status, observed, split.new.as_deref());
    status.observed_generation = generation;
    let now = observed.now;
    let current = status.replicas.unwrap_or(0);
    let scaling = Scaling {
        replicas: observed.deployment.spec.replicas,
        is_deleting: is_deleting(observed.deployment.as_ref()),
        current,
        spec: &observed.deployment.spec.template.spec,
        bootstrap: &observed.bootstrap,
        infrastructure: &observed.infrastructure,
        blocked: &[],
    };
    let all = [
        available(status, observed),
        rolling_out(observed),
        scaling.up(),
        scaling.down(),
        machines_ready("MachinesReady", &observed.machines),
        machines_up_to_date("MachinesUpToDate", &observed.machines, now),
        remediating(&observed.machines, " by MachineDeployment/MachineSet"),
        deleting(observed),
    ];
    for condition in all {
        conditions::set(deployment, now, condition);
    }
}

fn sum<'a>(
    sets: impl Iterator<Item = &'a MachineSet>,
    number: impl Fn(&MachineSetStatus) -> Option<i32>,
) -> Option<i32> {
    let numbers = sets.filter_map(|set| set.status.as_ref().and_then(&number));
    numbers.fold(None, |sum, number| Some(sum.unwrap_or(0) + number))
}

fn counters(status: &mut MachineDeploymentStatus, observed: &Observed, split: &Split) {
    let sets = || observed.sets.iter().map(AsRef::as_ref);
    status.replicas = sum(sets(), |status| status.replicas);
    status.ready_replicas = sum(sets(), |status| status.ready_replicas);
    status.available_replicas = sum(sets(), |status| status.available_replicas);
    status.up_to_date_replicas = sum(sets(), |status| status.up_to_date_replicas);
    status.selector = Some(selector::text(&observed.deployment.spec.selector));
    let reported =
        observed.sets.iter().filter_map(|set| set.status.as_ref()).flat_map(|status| &status.versions);
    status.versions =
        versions::count(reported.map(|reported| (reported.version.as_str(), reported.replicas.unwrap_or(0))));
    let (current, desired) = (status.replicas.unwrap_or(0), observed.deployment.spec.replicas.unwrap_or(0));
    let phase = match current.cmp(&desired) {
        std::cmp::Ordering::Less => "ScalingUp",
        std::cmp::Ordering::Greater => "ScalingDown",
        std::cmp::Ordering::Equal => "Running",
    };
    status.phase = Some(phase.to_owned());
    let wanted: i32 = sets().map(|set| set.spec.replicas.unwrap_or(0)).sum();
    let available = status.available_replicas.unwrap_or(0);
    let updated = split.new.as_ref().and_then(|new| new.status.as_ref()?.replicas);
    let deprecated = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    deprecated.available_replicas = Some(available);
    deprecated.ready_replicas = Some(status.ready_replicas.unwrap_or(0));
    deprecated.unavailable_replicas = Some((wanted - available).max(0));
    deprecated.updated_replicas = Some(updated.unwrap_or(0));
}

fn available(status: &MachineDeploymentStatus, observed: &Observed) -> Condition {
    const TYPE: &str = "Available";
    let deployment = observed.deployment.as_ref();
    let Some(replicas) = deployment.spec.replicas else {
        return is_unknown(TYPE, "WaitingForReplicasSet", "Waiting for spec.replicas set");
    };
    let Some(available) = status.available_replicas else {
        return is_unknown(
            TYPE,
            "WaitingForAvailableReplicasSet",
            "Waiting for status.availableReplicas set",
        );
    };
    let on_delete = is_on_delete(deployment);
    let unavailable = if on_delete { 0 } else { limits(deployment).unavailable };
    let required = replicas - unavailable;
    if available >= required {
        return is_true(TYPE, "Available");
    }
    if is_deleting(deployment) {
        return is_false(TYPE, "NotAvailable", "Deletion in progress");
    }
    let mut message = format!("{available} available replicas, at least {required} required");
    if on_delete {
        message.push_str(&format!(" (spec.replicas is {replicas})"));
    } else {
        let given = max_unavailable(observed);
        message.push_str(&format!(
            " (spec.strategy.rollout.maxUnavailable is {given}, spec.replicas is {replicas})"
        ));
    }
    is_false(TYPE, "NotAvailable", message)
}

/// Returns `maxUnavailable` as the user wrote it.
fn max_unavailable(observed: &Observed) -> String {
    let strategy = observed.deployment.spec.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    match rolling.and_then(|rolling| rolling.max_unavailable.as_ref()) {
        Some(IntOrString::String(text)) => text.clone(),
        Some(IntOrString::Int(number)) => number.to_string(),
        None => "0".to_owned(),
    }
}

fn rolling_out(observed: &Observed) -> Condition {
    let mut count = 0;
    let mut reasons: BTreeMap<(bool, String), ()> = BTreeMap::new();
    for machine in &observed.machines {
        let Some(condition) = machine.condition("UpToDate").filter(|condition| condition.status == FALSE)
        else {
            continue;
        };
        count += 1;
        if condition.reason == "Updating" {
            continue;
        }
        for line in condition.message.lines().filter(|line| line.starts_with("* ")) {
            // Version changes are listed first.
            reasons.insert((!line.starts_with("* Version"), line.to_owned()), ());
        }
    }
    if count == 0 {
        return is_false("RollingOut", "NotRollingOut", "");
    }
    let mut lines = vec![format!("Rolling out {count} not up-to-date replicas")];
    lines.extend(reasons.into_keys().map(|(_, line)| line));
    conditions::new("RollingOut", TRUE, "RollingOut", lines.join("\n"))
}

fn deleting(observed: &Observed) -> Condition {
    const TYPE: &str = "Deleting";
    if !is_deleting(observed.deployment.as_ref()) {
        return is_false(TYPE, "NotDeleting", "");
    }
    let message = if !observed.machines.is_empty() {
        format!("Deleting {} Machines", observed.machines.len())
    } else if !observed.sets.is_empty() {
        format!("Deleting {} MachineSets", observed.sets.len())
    } else {
        "Deletion completed".to_owned()
    };
    conditions::new(TYPE, TRUE, TYPE, message)
}
