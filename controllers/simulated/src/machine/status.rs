//! Writes the status of a DevMachine.

use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary, summarize};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineAddress};
use schemas::infrastructure::DevMachine;

use super::failures;
use super::plan::{self, Plan, parts};
use crate::workload::objects::provider_id;
use crate::workload::part::Part;

/// Writes the conditions of the plan, the condition Ready, and, once the Node runs, provider ID, failure domain and addresses into the
/// DevMachine.
pub(super) fn write(
    wanted: &mut DevMachine,
    plan: &Plan,
    machine: &Machine,
    control_plane: bool,
    now: DateTime<Utc>,
) {
    for condition in &plan.conditions {
        let mut condition = condition.clone();
        if plan::restart_time(wanted.condition(&condition.type_), &condition) {
            wanted.conditions_mut().retain(|present| present.type_ != condition.type_);
        }
        condition.last_transition_time.clear();
        conditions::set(wanted, now, condition);
    }
    match &plan.failure {
        Some(failure) => conditions::set(wanted, now, failure.clone()),
        None => conditions::remove(wanted, failures::CONDITION),
    }
    let summary = Summary {
        types: parts(control_plane).iter().map(|part| part.condition()).collect(),
        negative: Vec::new(),
        ignore_if_missing: Vec::new(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    let ready = summarize("Ready", wanted.conditions(), &summary, |_| None);
    conditions::set(wanted, now, ready);
    if plan.running.contains(&Part::Node) || (plan.bootstrap_hangs && plan.running.contains(&Part::Vm)) {
        let name = wanted.metadata.name.clone().unwrap_or_default();
        wanted.spec.provider_id = Some(provider_id(&name));
        let status = wanted.status.get_or_insert_default();
        status.initialization.get_or_insert_default().provisioned = Some(true);
        status.failure_domain.clone_from(&machine.spec.failure_domain);
        // Nothing listens at an address of a simulated machine, so it has only names.
        status.addresses = ["Hostname", "InternalDNS"]
            .map(|type_| MachineAddress { type_: type_.to_owned(), address: name.clone() })
            .to_vec();
    }
}
