//! Reads the objects on which the plan of a binding depends.

use engine::{Objects, Request};
use schemas::addons::ClusterResourceSetBinding;
use schemas::cluster::Cluster;

use super::observed::Observed;
use super::plan::cluster_of;

/// The controller of ClusterResourceSetBindings.
pub(super) struct BindingController {
    pub bindings: Objects<ClusterResourceSetBinding>,
    pub clusters: Objects<Cluster>,
}

impl BindingController {
    /// Reads the state on which the plan depends; `None` if there is no such binding.
    pub(super) fn read(&self, request: &Request) -> Option<Observed> {
        let binding = self.bindings.get(request)?;
        let cluster = self.clusters.get(&cluster_of(&binding));
        Some(Observed { binding, cluster })
    }
}
