//! The state on which the plan of a Metal3Machine depends.

use std::sync::Arc;

use engine::NamespacedName;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;

use super::node::NodeState;

/// The state on which the plan of a Metal3Machine depends.
#[derive(Clone)]
pub struct Observed {
    /// The name of the Metal3Machine.
    pub name: NamespacedName,
    /// The Metal3Machine.
    pub object: Arc<Metal3Machine>,
    /// The Machine that owns it.
    pub machine: Option<Arc<Machine>>,
    /// Its Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// The Cluster's infrastructure.
    pub metal3_cluster: Option<Arc<Metal3Cluster>>,
    /// Its host.
    pub host: Option<Arc<BareMetalHost>>,
    /// All hosts of the namespace, if it has no host.
    pub hosts: Vec<Arc<BareMetalHost>>,
    /// The value of the label that keeps a host for machines of the same control plane or MachineDeployment.
    pub reuse: Option<String>,
    /// Whether its template asks to keep hosts for the next machine.
    pub is_reusable: bool,
    /// Its data claim.
    pub claim: Option<Arc<Metal3DataClaim>>,
    /// The data that were rendered for the claim.
    pub data: Option<Arc<Metal3Data>>,
    /// Its Node.
    pub node: NodeState,
}
