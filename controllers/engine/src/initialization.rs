//! What has been reached once in the life of a Cluster, and is never taken back.

use schemas::cluster::{Cluster, ClusterInitializationStatus};

/// Returns whether the infrastructure of a Cluster was provisioned at any time.
pub fn has_infrastructure(cluster: &Cluster) -> bool {
    of(cluster).is_some_and(|initialization| initialization.infrastructure_provisioned == Some(true))
}

/// Returns whether the control plane of a Cluster was initialized at any time.
pub fn has_control_plane(cluster: &Cluster) -> bool {
    of(cluster).is_some_and(|initialization| initialization.control_plane_initialized == Some(true))
}

fn of(cluster: &Cluster) -> Option<&ClusterInitializationStatus> {
    cluster.status.as_ref()?.initialization.as_ref()
}
