//! Names of finalizers and labels.

/// The provider of Cluster API that has the Dev kinds, in the label of its objects. While it is installed, it reconciles them.
pub const UPSTREAM: &str = "infrastructure-docker";
/// Finalizer of DevMachinePools; in Cluster API the Dev kinds took it over from the Docker kinds.
pub const FINALIZER: &str = "dockermachinepool.infrastructure.cluster.x-k8s.io";
