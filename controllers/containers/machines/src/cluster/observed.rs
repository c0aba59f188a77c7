//! The state on which the plan of a DevCluster depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;

/// The state on which the plan of a DevCluster depends.
#[derive(Clone)]
pub(super) struct Observed {
    /// The DevCluster.
    pub dev: Arc<DevCluster>,
    /// Its Cluster, which may be gone.
    pub cluster: Option<Arc<Cluster>>,
    /// The machines of its control plane.
    pub members: Vec<Member>,
    /// The name of its load balancer, or why it is not known. Clusters of one name in two namespaces have different ones.
    pub balancer: std::result::Result<String, String>,
    /// The labels of its load balancer.
    pub labels: BTreeMap<String, String>,
}

/// A machine of the control plane that has an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    /// The name of its container.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether its Machine is being deleted.
    pub goes: bool,
}

impl Observed {
    /// Returns the name of the load balancer.
    pub fn name(&self) -> Result<&str> {
        self.balancer.as_deref().map_err(|error| anyhow::anyhow!(error.clone()))
    }
}
