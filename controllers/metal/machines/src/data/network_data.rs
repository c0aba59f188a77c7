//! Renders the network data of a machine, in the form of OpenStack's `network_data.json`.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemas::infrastructure::{NetworkData, NetworkDataLink, NetworkLinkEthernetMac};
use serde_json::{Map, Value, json};

use crate::data::networks::{self, Network, Route};
use crate::data::pools::{Addresses, address};
use crate::data::subject::Subject;

/// Returns the network data: the lists `links`, `networks` and `services`.
///
/// # Errors
/// What the template asks for and the objects do not have.
pub fn render(rules: &NetworkData, subject: &Subject, addresses: &Addresses) -> Result<Value, String> {
    let links = match &rules.links {
        Some(rules) => links(rules, subject)?,
        None => Vec::new(),
    };
    let found = rules.networks.as_ref().map(networks::all).unwrap_or_default();
    let networks: Vec<Value> =
        found.iter().map(|rule| network(rule, subject, addresses)).collect::<Result<_, _>>()?;
    let services = match &rules.services {
        Some(rules) => services(&rules.dns, rules.dns_from_ip_pool.as_deref(), addresses)?,
        None => Vec::new(),
    };
    Ok(json!({"links": links, "networks": networks, "services": services}))
}

fn links(rules: &NetworkDataLink, subject: &Subject) -> Result<Vec<Value>, String> {
    let mut links = Vec::new();
    for bond in &rules.bonds {
        let mut link = base("bond", &bond.id, bond.mtu, bond.name.as_deref());
        link.insert("bond_mode".to_owned(), bond.bond_mode.as_str().into());
        link.insert("bond_links".to_owned(), bond.bond_links.as_slice().into());
        if let Some(policy) = bond.bond_xmit_hash_policy.as_deref().filter(|policy| !policy.is_empty()) {
            link.insert("bond_xmit_hash_policy".to_owned(), policy.into());
        }
        // A bond without a MAC address gets that of its first link.
        if bond.mac_address != NetworkLinkEthernetMac::default() {
            let mac = mac(&bond.id, &bond.mac_address, subject)?;
            link.insert("ethernet_mac_address".to_owned(), mac.into());
        }
        for parameter in &bond.parameters {
            let key = format!("bond_{}", parameter.name);
            if link.contains_key(&key) {
                return Err(format!(
                    "bond {:?} has a field of its own for parameter {:?}: remove it from parameters",
                    bond.id, parameter.name
                ));
            }
            link.insert(key, parameter.value.clone().unwrap_or_default());
        }
        links.push(link.into());
    }
    for ethernet in &rules.ethernets {
        let mut link = base(&ethernet.type_, &ethernet.id, ethernet.mtu, ethernet.name.as_deref());
        let mac = mac(&ethernet.id, &ethernet.mac_address, subject)?;
        link.insert("ethernet_mac_address".to_owned(), mac.into());
        links.push(link.into());
    }
    for vlan in &rules.vlans {
        let mut link = base("vlan", &vlan.id, vlan.mtu, vlan.name.as_deref());
        link.insert("vlan_id".to_owned(), vlan.vlan_id.into());
        link.insert("vlan_link".to_owned(), vlan.vlan_link.as_str().into());
        let mac = mac(&vlan.id, &vlan.mac_address, subject)?;
        link.insert("vlan_mac_address".to_owned(), mac.into());
        links.push(link.into());
    }
    Ok(links)
}

fn base(kind: &str, id: &str, mtu: Option<i32>, name: Option<&str>) -> Map<String, Value> {
    let mut link = Map::new();
    link.insert("type".to_owned(), kind.into());
    link.insert("id".to_owned(), id.into());
    if let Some(mtu) = mtu {
        link.insert("mtu".to_owned(), mtu.into());
    }
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        link.insert("name".to_owned(), name.into());
    }
    link
}

/// Returns the MAC address of a link.
fn mac(link: &str, rule: &NetworkLinkEthernetMac, subject: &Subject) -> Result<String, String> {
    let (mac, origin) = if let Some(mac) = &rule.string {
        (mac.as_str(), "macAddress.string".to_owned())
    } else if let Some(interface) = &rule.from_host_interface {
        (subject.mac(interface)?, format!("interface {interface:?} of {}", subject.host_name()))
    } else if let Some(from) = &rule.from_annotation {
        let origin =
            format!("annotation {} of {} {}", from.annotation, from.object, subject.name(&from.object)?);
        (subject.annotation(&from.object, &from.annotation)?, origin)
    } else {
        return Err(format!(
            "link {link:?} has no macAddress: set string, fromHostInterface or fromAnnotation"
        ));
    };
    if is_mac(mac) {
        Ok(mac.to_owned())
    } else {
        Err(format!("link {link:?}: {origin} is {mac:?}, which is no MAC address"))
    }
}

/// Returns whether `text` is six bytes in hexadecimal with `:` or `-` between them.
fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.len() == 6 && parts.iter().all(is_byte)
}

fn network(rule: &Network<'_>, subject: &Subject, addresses: &Addresses) -> Result<Value, String> {
    let routes: Vec<Value> = rule
        .routes
        .iter()
        .map(|route| self::route(route, rule.is_v4, subject, addresses))
        .collect::<Result<_, _>>()?;
    let mut network = json!({"type": rule.kind, "id": rule.id, "link": rule.link, "routes": routes});
    let Some(pool) = &rule.pool else { return Ok(network) };
    let pool = pool.resolve(subject)?.ok_or_else(|| {
        format!(
            "network {:?} has no pool: set fromPoolRef, fromPoolAnnotation or ipAddressFromIPPool",
            rule.id
        )
    })?;
    let given = address(addresses, &pool.name)?;
    if given.address.contains(':') == rule.is_v4 {
        let id = rule.id;
        return Err(format!(
            "network {id:?} is of type {}, but pool {:?} gave {}",
            rule.kind, pool.name, given.address
        ));
    }
    let longest = if rule.is_v4 { 32 } else { 128 };
    let prefix = given.prefix.filter(|prefix| (0..=longest).contains(prefix));
    let prefix = prefix.and_then(|prefix| u32::try_from(prefix).ok()).ok_or_else(|| {
        format!("pool {:?} has no prefix between 0 and {longest} for network {:?}: set spec.prefix or spec.pools[].prefix", pool.name, rule.id)
    })?;
    network["ip_address"] = given.address.as_str().into();
    network["netmask"] = netmask(prefix, rule.is_v4).into();
    Ok(network)
}

fn route(rule: &Route<'_>, is_v4: bool, subject: &Subject, addresses: &Addresses) -> Result<Value, String> {
    let gateway = match rule.gateway {
        Some(gateway) => gateway.to_owned(),
        None => {
            let pool = rule.pool.resolve(subject)?;
            let pool = pool.ok_or_else(|| {
                format!("the route to {} has no gateway: set string or a pool", rule.network)
            })?;
            let gateway =
                address(addresses, &pool.name)?.gateway.clone().filter(|gateway| !gateway.is_empty());
            gateway.ok_or_else(|| {
                format!(
                    "pool {:?} has no gateway for the route to {}: set its spec.gateway",
                    pool.name, rule.network
                )
            })?
        }
    };
    let longest = if is_v4 { 32 } else { 128 };
    let prefix = u32::try_from(rule.prefix).ok().filter(|prefix| *prefix <= longest);
    let prefix = prefix.ok_or_else(|| {
        format!(
            "the route to {} has the prefix {}, which is not between 0 and {longest}",
            rule.network, rule.prefix
        )
    })?;
    let services = services(rule.dns, rule.dns_pool, addresses)?;
    Ok(
        json!({"network": rule.network, "netmask": netmask(prefix, is_v4), "gateway": gateway, "services": services}),
    )
}

fn services(dns: &[String], pool: Option<&str>, addresses: &Addresses) -> Result<Vec<Value>, String> {
    let mut servers: Vec<&String> = dns.iter().collect();
    if let Some(pool) = pool.filter(|pool| !pool.is_empty()) {
        servers.extend(&address(addresses, pool)?.dns_servers);
    }
    Ok(servers.iter().map(|server| json!({"type": "dns", "address": server})).collect())
}

/// Returns the text of a netmask: `255.255.255.0`, or `ffff:ffff::`.
fn netmask(prefix: u32, is_v4: bool) -> String {
    if is_v4 {
        Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - prefix.min(32)).unwrap_or(0)).to_string()
    } else {
        Ipv6Addr::from_bits(u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0)).to_string()
    }
}
