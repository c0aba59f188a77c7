//! The state of the world that a MachineSet's plan depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::ExternalObject;
use schemas::admission::Features;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

use crate::change::Reference;

/// The state of the world that a MachineSet's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineSet.
    pub set: Arc<MachineSet>,
    /// The MachineSet's Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineDeployment that controls the MachineSet.
    pub deployment: Option<Arc<MachineDeployment>>,
    /// The Machines that the MachineSet's selector matches, and that it controls or that nothing controls.
    pub machines: Vec<Arc<Machine>>,
    /// The bootstrap template.
    pub bootstrap: Reference,
    /// The infrastructure template.
    pub infrastructure: Reference,
    /// The Cluster's control plane object.
    pub control_plane: Reference,
    /// The MachineSet that gets the Machines of this one when it is scaled down.
    pub target: Option<Arc<MachineSet>>,
    /// Bootstrap and infrastructure objects of the Machines, and those that the MachineSet itself still owns.
    pub parts: Vec<ExternalObject>,
    /// The features that are on.
    pub features: Features,
    /// Random suffixes for the names of the Machines that may be created now.
    pub suffixes: Vec<String>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
