//! The state on which the plan of a DevCluster depends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::NamespacedName;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;

/// The state on which the plan of a DevCluster depends.
pub(super) struct Observed {
    /// The DevCluster.
    pub dev: Arc<DevCluster>,
    /// Its Cluster, which may be gone.
    pub cluster: Option<Arc<Cluster>>,
    /// The name of its Cluster.
    pub name: NamespacedName,
    /// The ports of the endpoints of all DevClusters, if this one has none yet. After a restart their clusters may not listen yet, and a
    /// new cluster must not take their ports.
    pub reserved: BTreeSet<u16>,
    /// The port of the Cluster's own endpoint, if that is on this host.
    pub asked: Option<u16>,
    /// What the endpoint lacks; `None` if clients reach a server, or no machine has one yet.
    pub unserved: Option<Unserved>,
}

/// An endpoint without a server, although a machine of the control plane has one according to its conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unserved {
    /// Since when.
    pub since: Duration,
    /// The names of the machines whose parts do not run in the cluster.
    pub machines: Vec<String>,
}
