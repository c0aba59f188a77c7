//! The networks of a template in one form for all five lists of `spec.networkData.networks`.

use schemas::infrastructure::{FromPoolAnnotation, IPPoolReference, NetworkDataNetwork};

use crate::data::pools::PoolReference;
use crate::data::subject::Subject;

/// A network.
#[derive(Debug)]
pub struct Network<'a> {
    /// The type in OpenStack's `network_data.json`.
    pub kind: &'static str,
    /// Whether it is an IPv4 network.
    pub is_v4: bool,
    /// Identifier of the network.
    pub id: &'a str,
    /// Identifier of its link.
    pub link: &'a str,
    /// The pool of the address; `None` for networks with automatic configuration.
    pub pool: Option<PoolSource<'a>>,
    /// Its routes.
    pub routes: Vec<Route<'a>>,
}

/// A route.
#[derive(Debug)]
pub struct Route<'a> {
    /// Address of the destination network.
    pub network: &'a str,
    /// Prefix length of the destination network.
    pub prefix: i32,
    /// Address of the gateway, if it is fixed.
    pub gateway: Option<&'a str>,
    /// The pool of the gateway.
    pub pool: PoolSource<'a>,
    /// Addresses of DNS servers.
    pub dns: &'a [String],
    /// Name of the IPPool that has further DNS servers.
    pub dns_pool: Option<&'a str>,
}

/// The three forms in which a template refers to a pool. The first that is present counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolSource<'a> {
    reference: Option<&'a IPPoolReference>,
    annotation: Option<&'a FromPoolAnnotation>,
    name: Option<&'a str>,
}

impl<'a> PoolSource<'a> {
    /// Creates the source of an IPPool with this name.
    pub fn named(name: Option<&'a str>) -> Self {
        Self { name, ..Self::default() }
    }

    /// Returns the pool; `None` if there is none.
    ///
    /// # Errors
    /// The object of the annotation is unknown, or does not have it.
    pub fn resolve(&self, subject: &Subject) -> Result<Option<PoolReference>, String> {
        if let Some(pool) = self.reference.filter(|pool| !pool.name.is_empty()) {
            return Ok(Some(PoolReference::new(pool.api_group.as_deref(), pool.kind.as_deref(), &pool.name)));
        }
        if let Some(from) = self.annotation {
            let name = subject.annotation(&from.object, &from.annotation)?;
            if name.is_empty() {
                let (key, object) = (&from.annotation, &from.object);
                let named = subject.name(object)?;
                return Err(format!("{object} {named} has no annotation {key} with the name of a pool"));
            }
            return Ok(Some(PoolReference::new(None, None, name)));
        }
        Ok(self.name.filter(|name| !name.is_empty()).map(|name| PoolReference::new(None, None, name)))
    }
}

/// Returns the pool source of a network with a fixed address. The types for IPv4 and IPv6 have the same fields.
macro_rules! pool_of_network {
    ($network:expr) => {
        PoolSource {
            reference: $network.from_pool_ref.as_ref(),
            annotation: $network.from_pool_annotation.as_ref(),
            name: $network.ip_address_from_ip_pool.as_deref(),
        }
    };
}

/// Returns the routes of a network. The types for IPv4 and IPv6 have the same fields.
macro_rules! routes_of {
    ($network:expr) => {
        $network
            .routes
            .iter()
            .map(|route| {
                let (gateway, services) = (&route.gateway, route.services.as_ref());
                Route {
                    network: &route.network,
                    prefix: route.prefix.unwrap_or_default(),
                    gateway: gateway.string.as_deref(),
                    pool: PoolSource {
                        reference: gateway.from_pool_ref.as_ref(),
                        annotation: gateway.from_pool_annotation.as_ref(),
                        name: gateway.from_ip_pool.as_deref(),
                    },
                    dns: services.map_or(&[], |services| &services.dns),
                    dns_pool: services.and_then(|services| services.dns_from_ip_pool.as_deref()),
                }
            })
            .collect()
    };
}

/// Returns a network in the form for all lists.
macro_rules! network {
    ($kind:expr, $is_v4:expr, $network:expr, $pool:expr) => {
        Network {
            kind: $kind,
            is_v4: $is_v4,
            id: &$network.id,
            link: &$network.link,
            pool: $pool,
            routes: routes_of!($network),
        }
    };
}

/// Returns the networks in the order in which they are rendered.
pub fn all(networks: &NetworkDataNetwork) -> Vec<Network<'_>> {
    let v4 = networks.ipv4.iter().map(|it| network!("ipv4", true, it, Some(pool_of_network!(it))));
    let v6 = networks.ipv6.iter().map(|it| network!("ipv6", false, it, Some(pool_of_network!(it))));
    let v4_dhcp = networks.ipv4_dhcp.iter().map(|it| network!("ipv4_dhcp", true, it, None));
    let v6_dhcp = networks.ipv6_dhcp.iter().map(|it| network!("ipv6_dhcp", false, it, None));
    let v6_slaac = networks.ipv6_slaac.iter().map(|it| network!("ipv6_slaac", false, it, None));
    v4.chain(v6).chain(v4_dhcp).chain(v6_dhcp).chain(v6_slaac).collect()
}
