//! The names that clients of ClusterResourceSets know.

/// Finalizer of a ClusterResourceSet, until the bindings of its Clusters no longer name it.
pub const FINALIZER: &str = "addons.cluster.x-k8s.io";
/// Type of the Secrets that a ClusterResourceSet may apply.
pub const SECRET_TYPE: &str = "addons.cluster.x-k8s.io/resource-set";
/// The strategy that applies the objects whenever their manifests change.
pub const RECONCILE: &str = "Reconcile";
