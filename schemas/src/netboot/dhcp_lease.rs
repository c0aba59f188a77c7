// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `netboot`: dhcp lease.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// An address that a machine got. The name is the MAC address of the machine, with dashes.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DHCPLease {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Who has which address until when.
    pub spec: DhcpLeaseSpec,
}

crate::kind!(
    DHCPLease,
    "netboot.firstlight.dev",
    "v1alpha1",
    "dhcpleases",
    ClusterResourceScope,
    [metadata, spec]
);

/// Who has which address until when.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DhcpLeaseSpec {
    /// What the client said of its architecture and firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The checksum of the one-time token that the client was told to start its agent with, in hexadecimal.
    #[serde(rename = "bootTokenSHA256", skip_serializing_if = "Option::is_none")]
    pub boot_token_sha256: Option<String>,
    /// When it was told so.
    #[serde(rename = "bootTokenTime", skip_serializing_if = "Option::is_none")]
    pub boot_token_time: Option<String>,
    /// Until when the address is the client's. Unset: for good.
    #[serde(rename = "expirationTime", skip_serializing_if = "Option::is_none")]
    pub expiration_time: Option<String>,
    /// The name that the client got, else the one that it gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The interface of this machine on which the client was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The address.
    #[serde(rename = "ipAddress")]
    pub ip_address: String,
    /// MAC address of the client, in lower case, with colons.
    #[serde(rename = "macAddress")]
    pub mac_address: String,
    /// Address of the relay through which the client was heard. Unset: none was between.
    #[serde(rename = "relayAddress", skip_serializing_if = "Option::is_none")]
    pub relay_address: Option<String>,
    /// What the client said of its maker.
    #[serde(rename = "vendorClass", skip_serializing_if = "Option::is_none")]
    pub vendor_class: Option<String>,
}
