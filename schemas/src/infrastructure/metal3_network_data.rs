// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 network data.

use crate::infrastructure::NetworkDataLink;
use serde::{Deserialize, Serialize};

/// An annotation with the name of an IP pool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FromPoolAnnotation {
    /// Key of the annotation.
    pub annotation: String,
    /// Object that has the annotation: the Machine, the Metal3Machine or the BareMetalHost.
    pub object: String,
}

/// A reference to an IP pool in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IPPoolReference {
    /// API group of the pool.
    #[serde(rename = "apiGroup", skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the pool.
    pub name: String,
}

/// Rules from which the network data are rendered.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkData {
    /// Links of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<NetworkDataLink>,
    /// Networks of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<NetworkDataNetwork>,
    /// Services of all networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkDataService>,
}

/// An IPv4 network with an address from a pool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataIpv4 {
    /// Annotation with the name of the pool that has the address.
    #[serde(rename = "fromPoolAnnotation", skip_serializing_if = "Option::is_none")]
    pub from_pool_annotation: Option<FromPoolAnnotation>,
    /// Pool that has the address.
    #[serde(rename = "fromPoolRef", skip_serializing_if = "Option::is_none")]
    pub from_pool_ref: Option<IPPoolReference>,
    /// Identifier of the network.
    pub id: String,
    /// Name of the IPPool that has the address.
    #[serde(rename = "ipAddressFromIPPool", skip_serializing_if = "Option::is_none")]
    pub ip_address_from_ip_pool: Option<String>,
    /// Identifier of the link that carries the network.
    pub link: String,
    /// Routes of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<NetworkDataRouteV4>,
}

/// An IPv4 network with automatic configuration by DHCP.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataIpv4Dhcp {
    /// Identifier of the network.
    pub id: String,
    /// Identifier of the link that carries the network.
    pub link: String,
    /// Routes of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<NetworkDataRouteV4>,
}

/// An IPv6 network with an address from a pool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataIpv6 {
    /// Annotation with the name of the pool that has the address.
    #[serde(rename = "fromPoolAnnotation", skip_serializing_if = "Option::is_none")]
    pub from_pool_annotation: Option<FromPoolAnnotation>,
    /// Pool that has the address.
    #[serde(rename = "fromPoolRef", skip_serializing_if = "Option::is_none")]
    pub from_pool_ref: Option<IPPoolReference>,
    /// Identifier of the network.
    pub id: String,
    /// Name of the IPPool that has the address.
    #[serde(rename = "ipAddressFromIPPool", skip_serializing_if = "Option::is_none")]
    pub ip_address_from_ip_pool: Option<String>,
    /// Identifier of the link that carries the network.
    pub link: String,
    /// Routes of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<NetworkDataRouteV6>,
}

/// An IPv6 network with automatic configuration, by DHCP or SLAAC.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataIpv6Dhcp {
    /// Identifier of the network.
    pub id: String,
    /// Identifier of the link that carries the network.
    pub link: String,
    /// Routes of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<NetworkDataRouteV6>,
}

/// Networks of the host.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataNetwork {
    /// IPv4 networks with addresses from pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipv4: Vec<NetworkDataIpv4>,
    /// IPv4 networks that are configured by DHCP.
    #[serde(rename = "ipv4DHCP", skip_serializing_if = "Vec::is_empty")]
    pub ipv4_dhcp: Vec<NetworkDataIpv4Dhcp>,
    /// IPv6 networks with addresses from pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipv6: Vec<NetworkDataIpv6>,
    /// IPv6 networks that are configured by DHCP.
    #[serde(rename = "ipv6DHCP", skip_serializing_if = "Vec::is_empty")]
    pub ipv6_dhcp: Vec<NetworkDataIpv6Dhcp>,
    /// IPv6 networks that are configured by SLAAC.
    #[serde(rename = "ipv6SLAAC", skip_serializing_if = "Vec::is_empty")]
    pub ipv6_slaac: Vec<NetworkDataIpv6Dhcp>,
}

/// An IPv4 route.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataRouteV4 {
    /// Gateway of the route.
    pub gateway: NetworkGatewayV4,
    /// Address of the destination network.
    pub network: String,
    /// Prefix length of the destination network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<i32>,
    /// Services of the destination network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkDataServiceV4>,
}

/// An IPv6 route.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataRouteV6 {
    /// Gateway of the route.
    pub gateway: NetworkGatewayV6,
    /// Address of the destination network.
    pub network: String,
    /// Prefix length of the destination network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<i32>,
    /// Services of the destination network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkDataServiceV6>,
}

/// Network services.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataService {
    /// Addresses of DNS servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<String>,
    /// Name of the IPPool that has the addresses of DNS servers.
    #[serde(rename = "dnsFromIPPool", skip_serializing_if = "Option::is_none")]
    pub dns_from_ip_pool: Option<String>,
}

/// Network services with IPv4 addresses.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataServiceV4 {
    /// Addresses of DNS servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<String>,
    /// Name of the IPPool that has the addresses of DNS servers.
    #[serde(rename = "dnsFromIPPool", skip_serializing_if = "Option::is_none")]
    pub dns_from_ip_pool: Option<String>,
}

/// Network services with IPv6 addresses.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkDataServiceV6 {
    /// Addresses of DNS servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<String>,
    /// Name of the IPPool that has the addresses of DNS servers.
    #[serde(rename = "dnsFromIPPool", skip_serializing_if = "Option::is_none")]
    pub dns_from_ip_pool: Option<String>,
}

/// The gateway of an IPv4 route. Exactly one field is set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkGatewayV4 {
    /// Name of the IPPool that has the gateway.
    #[serde(rename = "fromIPPool", skip_serializing_if = "Option::is_none")]
    pub from_ip_pool: Option<String>,
    /// Annotation with the name of the pool that has the gateway.
    #[serde(rename = "fromPoolAnnotation", skip_serializing_if = "Option::is_none")]
    pub from_pool_annotation: Option<FromPoolAnnotation>,
    /// Pool that has the gateway.
    #[serde(rename = "fromPoolRef", skip_serializing_if = "Option::is_none")]
    pub from_pool_ref: Option<IPPoolReference>,
    /// Address of the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
}

/// The gateway of an IPv6 route. Exactly one field is set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkGatewayV6 {
    /// Name of the IPPool that has the gateway.
    #[serde(rename = "fromIPPool", skip_serializing_if = "Option::is_none")]
    pub from_ip_pool: Option<String>,
    /// Annotation with the name of the pool that has the gateway.
    #[serde(rename = "fromPoolAnnotation", skip_serializing_if = "Option::is_none")]
    pub from_pool_annotation: Option<FromPoolAnnotation>,
    /// Pool that has the gateway.
    #[serde(rename = "fromPoolRef", skip_serializing_if = "Option::is_none")]
    pub from_pool_ref: Option<IPPoolReference>,
    /// Address of the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
}
