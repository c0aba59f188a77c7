//! What becomes of the unhealthy Machines of a control plane.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::conditions::{self, is_false};
use schemas::cluster::Machine;
use schemas::meta::Condition;

use crate::controlplane::observed::ControlPlaneMachine;
use crate::controlplane::step::Step;
use crate::names::condition;

/// What becomes of the unhealthy Machines.
#[derive(Debug, Default)]
pub(crate) struct Remediation {
    /// The condition `OwnerRemediated` of Machines, by name; `None` where it is removed.
    pub conditions: BTreeMap<String, Option<Condition>>,
    /// The record that the control plane is to have.
    pub record: Option<String>,
    /// The name of the Machine that is deleted.
    pub deletes: Option<String>,
    /// The steps of a remediation; `None` if the control plane goes on with other work.
    pub steps: Option<Vec<Step>>,
    /// When a Machine may be remediated that may not be now.
    pub due: Option<DateTime<Utc>>,
}

impl Remediation {
    /// Says in the condition of a Machine what is done about it, or why nothing is.
    pub fn mark(&mut self, member: &ControlPlaneMachine, reason: &str, message: impl Into<String>) {
        let condition = is_false(condition::OWNER_REMEDIATED, reason, message);
        self.conditions.insert(member.name().to_owned(), Some(condition));
    }

    /// Writes the conditions into `machine`.
    pub fn write(&self, machine: &mut Machine, now: DateTime<Utc>) {
        let name = machine.metadata.name.clone().unwrap_or_default();
        match self.conditions.get(&name) {
            Some(Some(condition)) => conditions::set(machine, now, condition.clone()),
            Some(None) => conditions::remove(machine, condition::OWNER_REMEDIATED),
            None => {}
        }
    }
}
