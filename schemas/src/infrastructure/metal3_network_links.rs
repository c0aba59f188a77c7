// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 network links.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An additional parameter of a bond.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataBondParameter {
    /// Name of the parameter, for example miimon.
    pub name: String,
    /// Value of the parameter, for example 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Links of the host.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataLink {
    /// Bonds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bonds: Vec<NetworkDataLinkBond>,
    /// Ethernet links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ethernets: Vec<NetworkDataLinkEthernet>,
    /// VLANs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<NetworkDataLinkVlan>,
}

/// A bond of several links.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataLinkBond {
    /// Identifiers of the links in the bond.
    #[serde(rename = "bondLinks", skip_serializing_if = "Vec::is_empty")]
    pub bond_links: Vec<String>,
    /// Mode of the bond.
    #[serde(rename = "bondMode")]
    pub bond_mode: String,
    /// Hash policy by which a link is selected for a packet.
    #[serde(rename = "bondXmitHashPolicy", skip_serializing_if = "Option::is_none")]
    pub bond_xmit_hash_policy: Option<String>,
    /// Identifier of the link, which other links and networks refer to.
    pub id: String,
    /// MAC address of the link.
    #[serde(rename = "macAddress")]
    pub mac_address: NetworkLinkEthernetMac,
    /// Maximum transmission unit of the link, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i32>,
    /// Name of the network interface in the operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Additional parameters of the bond.
    pub parameters: Vec<NetworkDataBondParameter>,
}

/// An Ethernet link.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataLinkEthernet {
    /// Identifier of the link, which other links and networks refer to.
    pub id: String,
    /// MAC address of the link.
    #[serde(rename = "macAddress")]
    pub mac_address: NetworkLinkEthernetMac,
    /// Maximum transmission unit of the link, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i32>,
    /// Name of the network interface in the operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Type of the link. The type of a physical interface is phy.
    #[serde(rename = "type")]
    pub type_: String,
}

/// A VLAN on another link.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataLinkVlan {
    /// Identifier of the link, which other links and networks refer to.
    pub id: String,
    /// MAC address of the link.
    #[serde(rename = "macAddress")]
    pub mac_address: NetworkLinkEthernetMac,
    /// Maximum transmission unit of the link, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i32>,
    /// Name of the network interface in the operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// ID of the VLAN.
    #[serde(rename = "vlanID")]
    pub vlan_id: i32,
    /// Identifier of the link that carries the VLAN.
    #[serde(rename = "vlanLink")]
    pub vlan_link: String,
}

/// The MAC address of a link. Exactly one field is set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkLinkEthernetMac {
    /// Annotation with the MAC address.
    #[serde(rename = "fromAnnotation", skip_serializing_if = "Option::is_none")]
    pub from_annotation: Option<NetworkLinkEthernetMacFromAnnotation>,
    /// Name of the network interface in the hardware details of the BareMetalHost.
    #[serde(rename = "fromHostInterface", skip_serializing_if = "Option::is_none")]
    pub from_host_interface: Option<String>,
    /// The MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
}

/// A MAC address in an annotation.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkLinkEthernetMacFromAnnotation {
    /// Key of the annotation.
    pub annotation: String,
    /// Object that has the annotation: the Machine, the Metal3Machine or the BareMetalHost.
    pub object: String,
}
