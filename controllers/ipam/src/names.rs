//! The names that clients of the upstream provider know.

/// Finalizer of an IPAddressClaim, until its IPAddress is deleted.
pub const RELEASE_ADDRESS: &str = "ipam.cluster.x-k8s.io/ReleaseAddress";
/// Finalizer of an IPAddress, until its IPAddressClaim is deleted.
pub const PROTECT_ADDRESS: &str = "ipam.cluster.x-k8s.io/ProtectAddress";
/// Finalizer of a pool, until none of its addresses is allocated.
pub const PROTECT_POOL: &str = "ipam.cluster.x-k8s.io/ProtectPool";
/// The name of the upstream provider in the label of its objects.
pub const UPSTREAM: &str = "ipam-in-cluster";
