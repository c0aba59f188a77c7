// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `ipam`: in cluster pool.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A pool from which IPAddressClaims of all namespaces get their addresses.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct GlobalInClusterIPPool {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The addresses of a pool, and the network that they are in.
    pub spec: InClusterIPPoolSpec,
    /// How many addresses there are.
    pub status: Option<InClusterIPPoolStatus>,
}

crate::kind!(
    GlobalInClusterIPPool,
    "ipam.cluster.x-k8s.io",
    "v1alpha2",
    "globalinclusterippools",
    ClusterResourceScope,
    [metadata, spec, status]
);

/// A pool from which IPAddressClaims of its namespace get their addresses.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InClusterIPPool {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The addresses of a pool, and the network that they are in.
    pub spec: InClusterIPPoolSpec,
    /// How many addresses there are.
    pub status: Option<InClusterIPPoolStatus>,
}

crate::kind!(
    InClusterIPPool,
    "ipam.cluster.x-k8s.io",
    "v1alpha2",
    "inclusterippools",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// The addresses of a pool, and the network that they are in.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InClusterIPPoolSpec {
    /// How long an address stays reserved after the deletion of its claim, in seconds. Until then the claim
    /// and its IPAddress remain. Unset or 0 frees it at once.
    #[serde(rename = "addressReuseGracePeriodSeconds", skip_serializing_if = "Option::is_none")]
    pub address_reuse_grace_period_seconds: Option<i32>,
    /// What is allocated: single addresses, ranges such as 10.0.0.10-10.0.0.20, and networks such as
    /// 10.0.1.0/24, all of one IP family and inside of one network of length prefix.
    pub addresses: Vec<String>,
    /// Also allocates the first address of the network, and for IPv4 its last one, which are the addresses
    /// of network and broadcast, and for IPv6 that of the routers.
    #[serde(rename = "allocateReservedIPAddresses", skip_serializing_if = "Option::is_none")]
    pub allocate_reserved_ip_addresses: Option<bool>,
    /// What is not allocated, in the forms of addresses.
    #[serde(rename = "excludedAddresses", skip_serializing_if = "Vec::is_empty")]
    pub excluded_addresses: Vec<String>,
    /// Gateway of the network. It is not allocated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Length of the network's prefix, such as 24.
    pub prefix: i64,
}

/// How many addresses there are.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InClusterIPPoolStatus {
    /// The numbers of addresses of a pool. A number that is too large for 64 bits is shown as
    /// 9223372036854775807.
    #[serde(rename = "ipAddresses", skip_serializing_if = "Option::is_none")]
    pub ip_addresses: Option<InClusterIPPoolStatusIPAddresses>,
}

/// The numbers of addresses of a pool. A number that is too large for 64 bits is shown as
/// 9223372036854775807.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InClusterIPPoolStatusIPAddresses {
    /// Addresses that can be allocated now.
    pub free: i64,
    /// Allocated addresses that the pool does not have any more.
    #[serde(rename = "outOfRange")]
    pub out_of_range: i64,
    /// All addresses that the pool can allocate.
    pub total: i64,
    /// Allocated addresses.
    pub used: i64,
}
