//! The state on which the plan of a DevMachine depends.

use std::sync::Arc;
use std::time::Duration;

use engine::object::label;
use engine::{NamespacedName, initialization};
use k8s_openapi::api::core::v1::Node;
use node_bootstrap::Bootstrap;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::DevMachine;
use system_containers::Container;

use super::node;
use super::steps::Wanted;
use super::tasks::Progress;
use crate::limits;

/// The state on which the plan of a DevMachine depends.
#[derive(Clone)]
pub struct Observed {
    /// The name of the DevMachine.
    pub name: NamespacedName,
    /// The DevMachine.
    pub dev: Arc<DevMachine>,
    /// The Machine that owns it.
    pub machine: Option<Arc<Machine>>,
    /// The MachinePool that the Machine belongs to.
    pub pool: Option<Arc<MachinePool>>,
    /// Its Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// Why nothing is known of its container.
    pub obstacle: Option<Obstacle>,
    /// Its container.
    pub container: Option<Container>,
    /// What a new container is made of.
    pub wanted: Wanted,
    /// The image of a new container.
    pub image: Result<String, String>,
    /// Its failure domain.
    pub failure_domain: Option<String>,
    /// Images that each new node gets.
    pub preload: Vec<String>,
    /// What is known of its steps.
    pub progress: Progress,
    /// Its bootstrap data.
    pub data: Data,
    /// Its Node.
    pub node: NodeState,
}

/// Why nothing is known of the container of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// No containers can run here, for this reason.
    Runtime(String),
    /// What runs containers here does not answer.
    Silence(String),
}

impl Obstacle {
    /// Returns what to say of it, and after how long to look again.
    pub fn told(&self) -> (&str, Duration) {
        match self {
            Self::Runtime(text) => (text, limits::LONGEST_RETRY),
            Self::Silence(text) => (text, limits::INSPECT),
        }
    }
}

/// The bootstrap data of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// The Machine names no Secret yet.
    Unnamed,
    /// They can be used.
    Usable(Arc<Bootstrap>),
    /// They cannot be used, for this reason.
    Unusable(String),
    /// The bootstrap has succeeded, and nobody needs them any more.
    Used,
}

/// The Node of a machine in its workload cluster.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeState {
    /// The workload cluster cannot be reached.
    NotConnected,
    /// It has no Node of this name.
    Absent,
    /// The Node.
    Found(Arc<Node>),
}

impl Observed {
    /// Returns the Kubernetes version of its Node.
    pub fn version(&self) -> Option<&str> {
        version(self.machine.as_deref(), self.pool.as_deref())
    }

    /// Returns whether it is a machine of the control plane.
    pub fn is_control_plane(&self) -> bool {
        is_control_plane(self.machine.as_deref())
    }

    /// Returns whether the infrastructure of the Cluster is there.
    pub fn has_infrastructure(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| initialization::has_infrastructure(cluster))
    }

    /// Returns whether the control plane of the Cluster is initialized.
    pub fn is_initialized(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.condition_is_true("ControlPlaneInitialized"))
    }

    /// Returns whether the Machine has a Node.
    pub fn has_node(&self) -> bool {
        let status = self.machine.as_ref().and_then(|machine| machine.status.as_ref());
        status.and_then(|status| status.node_ref.as_ref()).is_some()
    }

    /// Returns whether a machine that was up is gone for good: its container is, and so says its Node. Where the Node is ready or cannot be asked,
    /// the container may be that of another data directory.
    pub fn is_lost(&self) -> bool {
        let says_so = match &self.node {
            NodeState::NotConnected => false,
            NodeState::Absent => true,
            NodeState::Found(node) => !node::is_ready(node),
        };
        self.container.is_none() && self.obstacle.is_none() && self.dev.spec.provider_id.is_some() && says_so
    }

    /// Returns whether the machine was provisioned.
    pub fn is_provisioned(&self) -> bool {
        let status = self.dev.status.as_ref().and_then(|status| status.initialization.as_ref());
        self.dev.spec.provider_id.is_some() && status.is_some_and(|it| it.provisioned == Some(true))
    }
}

/// Returns whether a Machine is one of the control plane.
pub(super) fn is_control_plane(machine: Option<&Machine>) -> bool {
    machine.is_some_and(|machine| label(machine, engine::names::CONTROL_PLANE).is_some())
}

/// Returns the name of the Secret with the bootstrap data of a machine. The machines of a pool share that of the MachinePool, and an empty
/// name is none yet.
pub(super) fn secret<'a>(machine: Option<&'a Machine>, pool: Option<&'a MachinePool>) -> Option<&'a str> {
    let of_pool = pool.map(|pool| &pool.spec.template.spec.bootstrap);
    let bootstrap = of_pool.or(machine.map(|machine| &machine.spec.bootstrap));
    bootstrap?.data_secret_name.as_deref().filter(|name| !name.is_empty())
}

/// Returns the Kubernetes version of a machine. The Machine of a pool has none before its Node exists.
pub(super) fn version<'a>(machine: Option<&'a Machine>, pool: Option<&'a MachinePool>) -> Option<&'a str> {
    let own = machine.and_then(|machine| machine.spec.version.as_deref());
    own.or_else(|| pool?.spec.template.spec.version.as_deref())
}
