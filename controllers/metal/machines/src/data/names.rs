//! The names that Metal3's clients know (`contract/metal3`, §0 and §2.5).

/// Finalizer of a Metal3DataTemplate, until none of its indexes is allocated.
pub const TEMPLATE_FINALIZER: &str = "metal3datatemplate.infrastructure.cluster.x-k8s.io";
/// Finalizer of a Metal3DataClaim, until its Metal3Data is deleted; also on the Metal3Data, until the claim is deleted.
pub const CLAIM_FINALIZER: &str = "metal3dataclaim.infrastructure.cluster.x-k8s.io";
/// Finalizer of a Metal3Data, until its addresses are returned; also on its claims of addresses.
pub const DATA_FINALIZER: &str = "metal3data.infrastructure.cluster.x-k8s.io";
/// Annotation of a Metal3Machine: namespace and name of its BareMetalHost.
pub const HOST: &str = "metal3.io/BareMetalHost";
/// Label of an IPClaim that has the name of a host: the name of its Metal3Data.
pub const DATA_LABEL: &str = "infrastructure.cluster.x-k8s.io/data-name";
/// Label of an IPClaim that has the name of a host: the name of its IPPool.
pub const POOL_LABEL: &str = "infrastructure.cluster.x-k8s.io/pool-name";
/// Type of the Secrets with metadata and network data.
pub const SECRET_TYPE: &str = "infrastructure.cluster.x-k8s.io/secret";
/// Key of the metadata in their Secret.
pub const METADATA_KEY: &str = "metaData";
/// Key of the network data in their Secret.
pub const NETWORK_DATA_KEY: &str = "networkData";

/// Returns the name of the Secret with the metadata of a Metal3Machine.
pub fn metadata_secret(machine: &str) -> String {
    format!("{machine}-metadata")
}

/// Returns the name of the Secret with the network data of a Metal3Machine.
pub fn network_data_secret(machine: &str) -> String {
    format!("{machine}-networkdata")
}
