//! Conditions that Clusters and the owners of Machines compute from their Machines.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use crate::conditions::{self, FALSE, Reasons, Source, TRUE};
use crate::messages;
use crate::names::CONTROL_PLANE;
use crate::object::label;

/// A Machine younger than this is left out while it has no `UpToDate` condition.
const UP_TO_DATE_GRACE_SECONDS: i64 = 10;
/// The maximum number of names in the list of unhealthy Machines.
const UNHEALTHY_NAMES: usize = 3;

fn sources<'a>(machines: &'a [Arc<Machine>]) -> Vec<Source<'a>> {
    machines
        .iter()
        .map(|machine| Source {
            kind: "Machine",
            name: machine.metadata.name.as_deref().unwrap_or_default(),
            is_control_plane: label(machine.as_ref(), CONTROL_PLANE).is_some(),
            conditions: machine.conditions(),
        })
        .collect()
}

/// Aggregates the Machines' `Ready` conditions as condition `target`.
pub fn machines_ready(target: &str, machines: &[Arc<Machine>]) -> Condition {
    if machines.is_empty() {
        return conditions::is_true(target, "NoReplicas");
    }
    let reasons = Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };
    conditions::aggregate(target, "Ready", false, &reasons, &sources(machines))
}

/// Aggregates the Machines' `UpToDate` conditions as condition `target`.
pub fn machines_up_to_date(target: &str, machines: &[Arc<Machine>], now: DateTime<Utc>) -> Condition {
    let is_new = |machine: &Machine| {
        let created = machine.metadata.creation_timestamp.as_ref().map(crate::time::utc);
        machine.condition("UpToDate").is_none()
            && created.is_some_and(|created| now - created < Duration::seconds(UP_TO_DATE_GRACE_SECONDS))
    };
    let counted: Vec<Arc<Machine>> = machines.iter().filter(|machine| !is_new(machine)).cloned().collect();
    if counted.is_empty() {
        return conditions::is_true(target, "NoReplicas");
    }
    let reasons = Reasons { issue: "NotUpToDate", unknown: "UpToDateUnknown", info: "UpToDate" };
    conditions::aggregate(target, "UpToDate", false, &reasons, &sources(&counted))
}

/// Returns the `Remediating` condition: true while a Machine's owner is asked to replace it. `by` ends the
/// sentence about unhealthy Machines that are not to be remediated, for example ` by MachineSet`.
pub fn remediating(machines: &[Arc<Machine>], by: &str) -> Condition {
    let is_unhealthy =
        |machine: &&Arc<Machine>| conditions::has(machine.conditions(), "HealthCheckSucceeded", FALSE);
    let asked = |machine: &&Arc<Machine>| conditions::has(machine.conditions(), "OwnerRemediated", FALSE);
    let chosen: Vec<Arc<Machine>> = machines.iter().filter(asked).cloned().collect();
    if !chosen.is_empty() {
        let mut condition = conditions::aggregate(
            "Remediating",
            "OwnerRemediated",
            false,
            &Reasons::default(),
            &sources(&chosen),
        );
        condition.status = TRUE.to_owned();
        condition.reason = "Remediating".to_owned();
        return condition;
    }
    let mut names: Vec<&str> =
        machines.iter().filter(is_unhealthy).filter_map(|machine| machine.metadata.name.as_deref()).collect();
    names.sort_unstable();
    let message = match names.len() {
        0 => String::new(),
        1 => format!("Machine {} is not healthy (not to be remediated{by})", names[0]),
        _ => {
            format!(
                "Machines {} are not healthy (not to be remediated{by})",
                messages::names(&names, UNHEALTHY_NAMES)
            )
        }
    };
    conditions::is_false("Remediating", "NotRemediating", message)
}

/// Counts the Machines whose condition `type_` is `True`.
pub fn count_true(machines: &[Arc<Machine>], type_: &str) -> i32 {
    let count = machines.iter().filter(|machine| machine.condition_is_true(type_)).count();
    i32::try_from(count).unwrap_or(i32::MAX)
}
