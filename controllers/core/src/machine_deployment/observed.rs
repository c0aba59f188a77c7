//! The state of the world that a MachineDeployment's plan depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::in_place::Decision;
use engine::object::uid;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

use crate::change::Reference;

/// What is known of the updates in place that a rollout can make.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Updates {
    /// They are off, or nothing is rolled out.
    #[default]
    None,
    /// The decision about each old MachineSet that could hand its Machines over, by UID.
    Decided(BTreeMap<String, Decision>),
    /// A decision is missing; holds the error message. Without it, Machines might be replaced that need not be.
    Failed(String),
}

impl Updates {
    /// Returns whether the Machines of an old MachineSet are updated in place.
    pub(super) fn can_move(&self, set: &MachineSet) -> bool {
        let Self::Decided(decisions) = self else { return false };
        decisions.get(uid(set)) == Some(&Decision::InPlace)
    }
}

/// The state of the world that a MachineDeployment's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineDeployment.
    pub deployment: Arc<MachineDeployment>,
    /// The MachineDeployment's Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineSets that the MachineDeployment controls, and those without a controller that its selector
    /// matches. A MachineDeployment that is being deleted adopts none.
    pub sets: Vec<Arc<MachineSet>>,
    /// The Machines with the MachineDeployment's label.
    pub machines: Vec<Arc<Machine>>,
    /// The bootstrap template.
    pub bootstrap: Reference,
    /// The infrastructure template.
    pub infrastructure: Reference,
    /// Random suffix for the name of the next MachineSet; empty if there is one with the current template. It is drawn only where it is
    /// used, so that a reconcile that creates nothing changes no later number of a simulation.
    pub suffix: String,
    /// Whether updates in place are on.
    pub updates_in_place: bool,
    /// Which old MachineSets hand their Machines over to the new one.
    pub updates: Updates,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
