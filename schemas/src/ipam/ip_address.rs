// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `ipam`: ip address.

use crate::meta::Condition;
use crate::meta::ContractVersionedObjectReference;
use crate::meta::DeprecatedStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Asks a pool for an IP address.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddressClaim {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// From which pool an address is wanted. It can't be changed.
    pub spec: IPAddressClaimSpec,
    /// What became of the claim.
    pub status: Option<IPAddressClaimStatus>,
}

crate::kind!(
    IPAddressClaim,
    "ipam.cluster.x-k8s.io",
    "v1beta2",
    "ipaddressclaims",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(IPAddressClaim);

/// An IP address that was taken from a pool for a claim.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddress {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// An address that belongs to a claim. It can't be changed.
    pub spec: IPAddressSpec,
}

crate::kind!(
    IPAddress,
    "ipam.cluster.x-k8s.io",
    "v1beta2",
    "ipaddresses",
    NamespaceResourceScope,
    [metadata, spec]
);

/// An IPAddressClaim in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddressClaimReference {
    /// Its name.
    pub name: String,
}

/// From which pool an address is wanted. It can't be changed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddressClaimSpec {
    /// The Cluster that the address is for.
    #[serde(rename = "clusterName", skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// The pool, in the same namespace.
    #[serde(rename = "poolRef")]
    pub pool_ref: ContractVersionedObjectReference,
}

/// What became of the claim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddressClaimStatus {
    /// The address. Unset until there is one.
    #[serde(rename = "addressRef", skip_serializing_if = "Option::is_none")]
    pub address_ref: Option<IPAddressReference>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
}

/// An IPAddress in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddressReference {
    /// Its name.
    pub name: String,
}

/// An address that belongs to a claim. It can't be changed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPAddressSpec {
    /// The address, IPv4 or IPv6.
    pub address: String,
    /// The claim that it was given to.
    #[serde(rename = "claimRef")]
    pub claim_ref: IPAddressClaimReference,
    /// Gateway of its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// The pool that it comes from.
    #[serde(rename = "poolRef")]
    pub pool_ref: ContractVersionedObjectReference,
    /// Length of the network's prefix, such as 24.
    pub prefix: i32,
}
