// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3_ipam`: ip pool.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A pool from which IP addresses are allocated to IPClaims and IPAddressClaims.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPPool {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of an IPPool.
    pub spec: IPPoolSpec,
    /// Observed state of an IPPool.
    pub status: Option<IPPoolStatus>,
}

crate::kind!(
    IPPool,
    "ipam.metal3.io",
    "v1alpha1",
    "ippools",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Desired state of an IPPool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPPoolSpec {
    /// Name of the Cluster that uses the pool.
    #[serde(rename = "clusterName", skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Addresses of DNS servers, unless a range has its own.
    #[serde(rename = "dnsServers", skip_serializing_if = "Vec::is_empty")]
    pub dns_servers: Vec<String>,
    /// Gateway of the network, unless a range has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Prefix of the names of the created IPAddresses. It is immutable.
    #[serde(rename = "namePrefix")]
    pub name_prefix: String,
    /// Ranges from which addresses are allocated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// Addresses that are reserved for claims, by the name of the claim.
    #[serde(rename = "preAllocations", skip_serializing_if = "BTreeMap::is_empty")]
    pub pre_allocations: BTreeMap<String, String>,
    /// Prefix length of the network, unless a range has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<i64>,
}

/// Observed state of an IPPool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPPoolStatus {
    /// Allocated addresses, by the name of the claim.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub indexes: BTreeMap<String, String>,
    /// Time of the last change of the status.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
}

/// A range of addresses. It has start and end, or a subnet, or both.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Pool {
    /// Addresses of DNS servers. The default is dnsServers of the IPPool.
    #[serde(rename = "dnsServers", skip_serializing_if = "Vec::is_empty")]
    pub dns_servers: Vec<String>,
    /// Last address of the range. The default is the last address of the subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Gateway of the network. The default is gateway of the IPPool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Prefix length of the network. The default is prefix of the IPPool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<i64>,
    /// First address of the range. The default is the first address of the subnet, plus one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Network that contains the range, in CIDR notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
}
