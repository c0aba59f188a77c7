//! What the parts of a control plane's plan share: the situation that they judge, and the decision that they make.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::{conditions, object};
use schemas::cluster::Machine;

use super::etcd_members::{self, Mismatch};
use super::machine_conditions::{self, Blind};
use super::observed::{ControlPlaneMachine, Observed};
use super::preflight::Preflight;
use super::remediation::outcome::Remediation;
use super::step::Step;
use super::{addons, outdated};

/// The observed state and the conditions computed from it.
pub(super) struct Situation<'a> {
    /// The observed state.
    pub observed: &'a Observed,
    /// The Machines with their new conditions, in the order of [`Observed::machines`].
    pub machines: Vec<Machine>,
    /// The reasons why Machines are outdated, by name.
    pub outdated: BTreeMap<String, Vec<String>>,
    /// The reason why the state of the Machines cannot be read.
    pub blind: Option<Blind>,
    /// The mismatches between etcd's members and the Machines.
    pub mismatch: Mismatch,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
    /// The changes of the add-ons; none while the cluster is not connected, or the control plane is being deleted.
    pub addons: addons::Decision,
}

impl<'a> Situation<'a> {
    /// Judges the observed state.
    pub fn of(observed: &'a Observed, now: DateTime<Utc>) -> Self {
        let blind = machine_conditions::blind(observed, now);
        let mut outdated = BTreeMap::new();
        let mut machines = Vec::new();
        for member in &observed.machines {
            let mut machine = member.machine.as_ref().clone();
            let mut reasons = outdated::reasons(observed, member, now);
            let condition = outdated::updating(&machine);
            if let Some(updating) = &condition {
                reasons = vec![updating.message.trim_start_matches("* ").to_owned()];
            }
            conditions::set(&mut machine, now, condition.unwrap_or_else(|| outdated::condition(&reasons)));
            for condition in machine_conditions::of_machine(observed, member, blind.as_ref()) {
                conditions::set(&mut machine, now, condition);
            }
            if !reasons.is_empty() {
                outdated.insert(member.name().to_owned(), reasons);
            }
            machines.push(machine);
        }
        let is_deleting = object::is_deleting(observed.control_plane.as_ref());
        let view = observed.workload.as_ref().filter(|_| !is_deleting);
        let addons = view.map(|view| addons::plan(&view.addons, &observed.control_plane));
        let addons = addons.unwrap_or_default();
        Self {
            mismatch: etcd_members::compare(observed, now),
            observed,
            machines,
            outdated,
            blind,
            now,
            addons,
        }
    }

    /// Returns the Machines that are not being deleted and must be replaced.
    pub fn outdated_machines(&self) -> Vec<&'a str> {
        let present = self.observed.machines.iter().filter(|member| !member.is_deleting());
        present.map(ControlPlaneMachine::name).filter(|name| self.outdated.contains_key(*name)).collect()
    }

    /// Returns the Machines other than `member`, with their new conditions.
    pub fn others(&self, member: &ControlPlaneMachine) -> impl Iterator<Item = &Machine> {
        let name = member.name().to_owned();
        self.machines.iter().filter(move |machine| machine.metadata.name.as_ref() != Some(&name))
    }
}

/// An event about the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Reason, for example `ControlPlaneUnhealthy`.
    pub reason: &'static str,
    /// Message for people.
    pub message: String,
}

/// The reason of events that say why scaling or a deletion waits.
const UNHEALTHY: &str = "ControlPlaneUnhealthy";

/// What is decided about the Machines.
#[derive(Default)]
pub(super) struct Decision {
    /// The steps to execute.
    pub steps: Vec<Step>,
    /// The preflight checks of the attempted scaling.
    pub preflight: Option<Preflight>,
    /// Reason and message of the `Deleting` condition.
    pub deleting: Option<(&'static str, String)>,
    /// What becomes of unhealthy Machines; `None` if nothing changes for them.
    pub remediation: Option<Remediation>,
    /// An event other than those of the preflight checks.
    pub event: Option<Event>,
    /// Errors that only a change of an object ends.
    pub errors: Vec<String>,
}

impl Decision {
    /// Returns a decision without steps, with the reason why a Machine's deletion waits.
    pub fn waiting(why: String) -> Self {
        Self { event: Some(Event { reason: UNHEALTHY, message: why }), ..Self::default() }
    }

    /// Returns a decision with steps only.
    pub fn steps(steps: Vec<Step>) -> Self {
        Self { steps, ..Self::default() }
    }

    /// Returns the event to record.
    pub fn event(&self) -> Option<Event> {
        let blocked = || self.preflight.as_ref().and_then(Preflight::event);
        let blocked = || blocked().map(|message| Event { reason: UNHEALTHY, message });
        self.event.clone().or_else(blocked)
    }
}
