//! The state on which the plan of a ClusterResourceSet depends.

use std::sync::Arc;

use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding};
use schemas::cluster::Cluster;

use super::source::Source;

/// The state on which the plan of a ClusterResourceSet depends.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The ClusterResourceSet.
    pub set: Arc<ClusterResourceSet>,
    /// What was found of its resources, in their order.
    pub sources: Vec<Source>,
    /// The Clusters of the namespace.
    pub clusters: Vec<Arc<Cluster>>,
    /// The bindings of the namespace.
    pub bindings: Vec<Arc<ClusterResourceSetBinding>>,
}
