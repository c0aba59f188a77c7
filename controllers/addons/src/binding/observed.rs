//! The state on which the plan of a binding depends.

use std::sync::Arc;

use schemas::addons::ClusterResourceSetBinding;
use schemas::cluster::Cluster;

/// The state on which the plan of a binding depends.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The binding.
    pub binding: Arc<ClusterResourceSetBinding>,
    /// Its Cluster.
    pub cluster: Option<Arc<Cluster>>,
}
