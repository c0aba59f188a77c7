// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3_ipam`: ip address.

use crate::meta::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// An IP address that is allocated from an IPPool to a claim.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddress {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// An IP address and the configuration of its network.
    pub spec: Metal3IPAddressSpec,
}

crate::kind!(
    IPAddress,
    "ipam.metal3.io",
    "v1alpha1",
    "ipaddresses",
    NamespaceResourceScope,
    [metadata, spec]
);

/// A request for an IP address from an IPPool.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPClaim {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of an IPClaim.
    pub spec: IPClaimSpec,
    /// Observed state of an IPClaim.
    pub status: Option<IPClaimStatus>,
}

crate::kind!(
    IPClaim,
    "ipam.metal3.io",
    "v1alpha1",
    "ipclaims",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Desired state of an IPClaim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPClaimSpec {
    /// IPPool from which an address is requested.
    pub pool: ObjectReference,
}

/// Observed state of an IPClaim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPClaimStatus {
    /// IPAddress that was created for the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<ObjectReference>,
    /// Message of an error of the allocation. The controller does not retry a claim that has one.
    #[serde(rename = "errorMessage", skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// An IP address and the configuration of its network.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3IPAddressSpec {
    /// The address.
    pub address: String,
    /// IPClaim to which the address is allocated.
    pub claim: ObjectReference,
    /// Addresses of DNS servers.
    #[serde(rename = "dnsServers", skip_serializing_if = "Vec::is_empty")]
    pub dns_servers: Vec<String>,
    /// Gateway of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// IPPool from which the address is allocated.
    pub pool: ObjectReference,
    /// Prefix length of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<i64>,
}
