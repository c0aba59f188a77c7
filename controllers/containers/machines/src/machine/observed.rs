//! The state on which the plan of a DevMachine depends.

use std::sync::Arc;

use engine::NamespacedName;
use engine::object::label;
use k8s_openapi::api::core::v1::Node;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::DevMachine;
use system_containers::Container;

use super::steps::{Done, Step, Wanted};
use crate::tasks::Progress;

/// The state on which the plan of a DevMachine depends.
#[derive(Clone)]
pub(crate) struct Observed {
    /// The name of the DevMachine.
    pub name: NamespacedName,
    /// The DevMachine.
    pub dev: Arc<DevMachine>,
    /// The Machine that owns it.
    pub machine: Option<Arc<Machine>>,
    /// Its Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// What hinders containers on this machine.
    pub obstacle: Option<String>,
    /// Its container.
    pub container: Option<Container>,
    /// What a new container is made of.
    pub wanted: Wanted,
    /// The image of a new container.
    pub image: Result<String, String>,
    /// What is known of its steps.
    pub progress: Progress<Step, Done>,
    /// Its bootstrap data.
    pub data: Data,
    /// Its Node.
    pub node: NodeState,
}

/// The bootstrap data of a machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    /// The Machine names no Secret yet.
    Unnamed,
    /// They are there, and can be used.
    Usable,
    /// They cannot be used, for this reason.
    Unusable(String),
}

/// The Node of a machine in its workload cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeState {
    /// The workload cluster cannot be reached.
    NotConnected,
    /// It has no Node of this name.
    Absent,
    /// The Node.
    Found(Arc<Node>),
}

impl Observed {
    /// Returns whether it is a machine of the control plane.
    pub fn is_control_plane(&self) -> bool {
        let machine = self.machine.as_deref();
        machine.is_some_and(|machine| label(machine, engine::names::CONTROL_PLANE).is_some())
    }

    /// Returns whether the infrastructure of the Cluster is there.
    pub fn has_infrastructure(&self) -> bool {
        let status = self.cluster.as_ref().and_then(|cluster| cluster.status.as_ref());
        let initialization = status.and_then(|status| status.initialization.as_ref());
        initialization.is_some_and(|it| it.infrastructure_provisioned == Some(true))
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

    /// Returns whether the machine was provisioned.
    pub fn is_provisioned(&self) -> bool {
        let status = self.dev.status.as_ref().and_then(|status| status.initialization.as_ref());
        self.dev.spec.provider_id.is_some() && status.is_some_and(|it| it.provisioned == Some(true))
    }
}
