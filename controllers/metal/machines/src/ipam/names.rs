//! The names that Metal3's clients know (`contract/metal3`, §0).

/// Finalizer of an IPPool, until none of its addresses is allocated.
pub const POOL_FINALIZER: &str = "ippool.ipam.metal3.io";
/// Finalizer of an IPClaim, until its IPAddress is deleted.
pub const CLAIM_FINALIZER: &str = "ipclaim.ipam.metal3.io";
/// Finalizer of an IPAddress, until its IPClaim is deleted.
pub const ADDRESS_FINALIZER: &str = "ipaddress.ipam.metal3.io";
/// Finalizer of an IPAddressClaim, until its IPAddress is deleted.
pub const ADDRESS_CLAIM_FINALIZER: &str = "ipam.metal3.io/ipaddressclaim";
/// Finalizer of Cluster API's IPAddress, until its IPAddressClaim is deleted.
pub const CLUSTER_API_ADDRESS_FINALIZER: &str = "ipam.metal3.io/ipaddress";
/// Annotation of a claim that requests a fixed address.
pub const REQUESTED: &str = "ipAddress";
