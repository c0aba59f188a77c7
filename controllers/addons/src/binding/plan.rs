//! The plan of a binding. Pure.

use engine::object::is_deleting;
use engine::{NamespacedName, paused};
use schemas::addons::ClusterResourceSetBinding;
use schemas::deletion_grace::is_torn_down;

use super::observed::Observed;

/// What to do with a binding.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// Its Cluster exists.
    Keep,
    /// Its Cluster is gone or being deleted.
    Delete,
}

/// Makes the plan. The add-ons of a Cluster with a topology end with it, too: runtime extensions, which upstream asks first, are not called
/// here.
pub fn plan(observed: &Observed) -> Plan {
    let binding = observed.binding.as_ref();
    if is_deleting(binding) || !paused::causes(binding, None).is_empty() {
        return Plan::Keep;
    }
    match &observed.cluster {
        Some(cluster) if !is_torn_down(cluster) => Plan::Keep,
        _ => Plan::Delete,
    }
}

/// Returns the Cluster of a binding. Old bindings have only its name as their own.
pub fn cluster_of(binding: &ClusterResourceSetBinding) -> NamespacedName {
    let name = NamespacedName::of(binding);
    match binding.spec.cluster_name.as_str() {
        "" => name,
        cluster => NamespacedName::new(name.namespace, cluster),
    }
}
