//! The IP pools that a template refers to.

use std::collections::BTreeMap;

use schemas::infrastructure::{Metal3DataTemplateSpec, NetworkData};
use schemas::metal3_ipam::IPPool;

use crate::data::networks::{self, PoolSource};
use crate::data::subject::Subject;

/// A reference to a pool in the namespace of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolReference {
    /// API group of the pool.
    pub group: String,
    /// Kind of the pool.
    pub kind: String,
    /// Name of the pool.
    pub name: String,
}

/// The address that was allocated from a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolAddress {
    /// The address.
    pub address: String,
    /// Prefix length of the network.
    pub prefix: Option<i64>,
    /// Gateway of the network.
    pub gateway: Option<String>,
    /// Addresses of DNS servers.
    pub dns_servers: Vec<String>,
}

/// The allocated addresses by the name of the pool.
pub type Addresses = BTreeMap<String, PoolAddress>;

impl PoolReference {
    /// Creates a reference. A pool without group and kind is Metal3's.
    pub fn new(group: Option<&str>, kind: Option<&str>, name: &str) -> Self {
        let or = |text: Option<&str>, default: &str| {
            text.filter(|text| !text.is_empty()).unwrap_or(default).to_owned()
        };
        Self { group: or(group, IPPool::GROUP), kind: or(kind, IPPool::KIND), name: name.to_owned() }
    }

    /// Returns whether the pool is Metal3's. It gets an IPClaim, and pools of other kinds an IPAddressClaim.
    pub fn is_metal3(&self) -> bool {
        self.group == IPPool::GROUP && self.kind == IPPool::KIND
    }
}

/// Returns the address from a pool.
///
/// # Errors
/// The template does not refer to the pool elsewhere, so that no address was claimed.
pub fn address<'a>(addresses: &'a Addresses, pool: &str) -> Result<&'a PoolAddress, String> {
    addresses.get(pool).ok_or_else(|| format!("no address of pool {pool:?} is allocated"))
}

/// Returns the pools of a template by name.
///
/// # Errors
/// One name refers to two kinds of pools, or see [`PoolSource::resolve`].
pub fn referenced(
    template: &Metal3DataTemplateSpec,
    subject: &Subject,
) -> Result<BTreeMap<String, PoolReference>, String> {
    let mut found = Vec::new();
    if let Some(data) = &template.meta_data {
        let lists = [
            &data.ip_addresses_from_pool,
            &data.prefixes_from_pool,
            &data.gateways_from_pool,
            &data.dns_servers_from_pool,
        ];
        for pool in lists.into_iter().flatten() {
            found.push(PoolReference::new(pool.api_group.as_deref(), pool.kind.as_deref(), &pool.name));
        }
    }
    if let Some(data) = &template.network_data {
        of_network_data(data, subject, &mut found)?;
    }
    let mut pools = BTreeMap::new();
    for pool in found.into_iter().filter(|pool| !pool.name.is_empty()) {
        if let Some(other) = pools.insert(pool.name.clone(), pool.clone()).filter(|other| *other != pool) {
            return Err(format!(
                "the template refers to pool {:?} as {}.{} and as {}.{}: pools of two kinds need two names",
                pool.name, other.kind, other.group, pool.kind, pool.group
            ));
        }
    }
    Ok(pools)
}

fn of_network_data(
    data: &NetworkData,
    subject: &Subject,
    found: &mut Vec<PoolReference>,
) -> Result<(), String> {
    let lists = data.networks.as_ref();
    for network in lists.iter().flat_map(|lists| networks::all(lists)) {
        if let Some(pool) = &network.pool {
            found.extend(pool.resolve(subject)?);
        }
        for route in &network.routes {
            if route.gateway.is_none() {
                found.extend(route.pool.resolve(subject)?);
            }
            found.extend(PoolSource::named(route.dns_pool).resolve(subject)?);
        }
    }
    let dns = data.services.as_ref().and_then(|services| services.dns_from_ip_pool.as_deref());
    found.extend(PoolSource::named(dns).resolve(subject)?);
    Ok(())
}
