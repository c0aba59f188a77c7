//! The observed state on which the plan of a Machine depends.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::Health;
use k8s_openapi::api::core::v1::{Node, Pod};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

use crate::change::Reference;

/// The observed state of the Machine's Node.
#[derive(Debug, Clone, Default)]
pub enum NodeState {
    /// The workload cluster is not connected.
    #[default]
    NotConnected,
    /// The workload cluster is connected and has no such Node.
    Absent,
    /// The Node.
    Found(Arc<Node>),
    /// Several Nodes have the Machine's provider ID; holds their names.
    Ambiguous(Vec<String>),
}

impl NodeState {
    /// Returns the Node, if exactly one was found.
    pub fn found(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Found(node) => Some(node),
            _ => None,
        }
    }
}

/// The state of the world that a Machine's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled Machine.
    pub machine: Arc<Machine>,
    /// The Machine's Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineSet that controls the Machine.
    pub set: Option<Arc<MachineSet>>,
    /// The MachineDeployment that controls the MachineSet.
    pub deployment: Option<Arc<MachineDeployment>>,
    /// The object that `spec.bootstrap.configRef` names.
    pub bootstrap: Reference,
    /// The object that `spec.infrastructureRef` names.
    pub infrastructure: Reference,
    /// The Machine's Node.
    pub node: NodeState,
    /// State of the connection to the workload cluster.
    pub health: Health,
    /// The Cluster's control plane object; only read while the Machine is being deleted.
    pub control_plane: Reference,
    /// Whether there are control plane Machines that are not being deleted; only computed while the Machine
    /// is being deleted.
    pub has_control_plane_machines: bool,
    /// The Pods on the Node, only read while the Machine is being deleted; `None` if they are not known.
    pub pods: Option<Vec<Arc<Pod>>>,
    /// The time at which this process first tried to delete the Node.
    pub node_deletion_since: Option<DateTime<Utc>>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
