//! What rules must know about other objects. The server gathers it before it calls the rules, which read nothing themselves.

use std::net::IpAddr;

use crate::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachinePool};
use crate::ipam::IPAddressClaim;
use serde_json::Value;

/// A fact about other objects.
#[derive(Debug, Clone, Default)]
pub enum Fact<T> {
    /// Nobody looked. A rule that needs the fact refuses the write, so that a server which forgets to look is noticed.
    #[default]
    Unread,
    /// What was found.
    Known(T),
    /// Why it could not be read.
    Failed(String),
}

impl<T> Fact<T> {
    /// Returns what was found.
    ///
    /// # Errors
    /// A sentence: the fact is not known.
    pub fn known(&self) -> Result<&T, String> {
        match self {
            Self::Known(found) => Ok(found),
            Self::Failed(why) => Err(why.clone()),
            Self::Unread => Err("it was not read".to_owned()),
        }
    }
}

impl<T> From<Result<T, String>> for Fact<T> {
    fn from(found: Result<T, String>) -> Self {
        found.map_or_else(Self::Failed, Self::Known)
    }
}

/// The facts for one write. A server gathers only those that the kind and the change need.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The class of a Cluster after the write; `None` if it does not exist.
    pub class: Fact<Option<Box<ClusterClass>>>,
    /// The class of a Cluster before the write, if the write changes it.
    pub old_class: Fact<Option<Box<ClusterClass>>>,
    /// What runs in a Cluster whose version changes.
    pub running: Fact<Running>,
    /// The Clusters of a class, in all namespaces.
    pub clusters: Fact<Vec<Cluster>>,
    /// The claim of an IPAddress; `None` if it does not exist.
    pub claim: Fact<Option<Box<IPAddressClaim>>>,
    /// The addresses that IPAddresses have of a pool which is changed or deleted.
    pub allocated: Fact<Vec<IpAddr>>,
}

impl Facts {
    /// Returns the facts of a server that has no other object.
    pub fn of_empty_server() -> Self {
        Self {
            class: Fact::Known(None),
            old_class: Fact::Known(None),
            running: Fact::Known(Running::default()),
            clusters: Fact::Known(Vec::new()),
            claim: Fact::Known(None),
            allocated: Fact::Known(Vec::new()),
        }
    }
}

/// The parts of a Cluster that must have its version before it gets another one.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// The object that `spec.controlPlaneRef` names; `None` if it does not exist.
    pub control_plane: Option<Value>,
    /// The MachineDeployments of the topology.
    pub machine_deployments: Vec<MachineDeployment>,
    /// The MachinePools of the topology.
    pub machine_pools: Vec<MachinePool>,
    /// All Machines of the Cluster.
    pub machines: Vec<Machine>,
}
