//! What a Machine depends on, as it was read.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::Health;
use k8s_openapi::api::core::v1::{Node, Pod};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

use crate::change::Reference;

/// The Machine's Node, as far as it can be known.
#[derive(Debug, Clone, Default)]
pub enum NodeState {
    /// The workload cluster is not connected.
    #[default]
    NotConnected,
    /// The cluster is connected and has no such Node.
    Absent,
    /// The Node.
    Found(Arc<Node>),
    /// Several Nodes have the Machine's provider ID: their names.
    Ambiguous(Vec<String>),
}

impl NodeState {
    /// The Node.
    pub fn found(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Found(node) => Some(node),
            _ => None,
        }
    }
}

/// Everything that a plan for a Machine depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineSet that controls it.
    pub set: Option<Arc<MachineSet>>,
    /// The MachineDeployment that controls that.
    pub deployment: Option<Arc<MachineDeployment>>,
    /// `spec.bootstrap.configRef`.
    pub bootstrap: Reference,
    /// `spec.infrastructureRef`.
    pub infrastructure: Reference,
    /// Its Node.
    pub node: NodeState,
    /// The connection to the cluster.
    pub health: Health,
    /// Only while it is being deleted: the Cluster's control plane object.
    pub control_plane: Reference,
    /// Only while it is being deleted: there are control plane Machines that are not.
    pub has_control_plane_machines: bool,
    /// Only while it is being deleted: the Pods on its Node; `None` while they are not known.
    pub pods: Option<Vec<Arc<Pod>>>,
    /// Since when this process has tried to delete its Node.
    pub node_deletion_since: Option<DateTime<Utc>>,
    /// Now.
    pub now: DateTime<Utc>,
}
