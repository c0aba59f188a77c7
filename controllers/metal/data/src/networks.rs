//! The networks of a template in one form for all five lists of `spec.networkData.networks`.

use schemas::infrastructure::{
    FromPoolAnnotation, IPPoolReference, NetworkDataNetwork, NetworkDataRouteV4, NetworkDataRouteV6,
};

use crate::pools::PoolReference;
use crate::subject::Subject;

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

/// Returns the networks in the order in which they are rendered.
pub fn all(networks: &NetworkDataNetwork) -> Vec<Network<'_>> {
    let mut all = Vec::new();
    for network in &networks.ipv4 {
        let (id, link, routes) = (&network.id, &network.link, network.routes.iter().map(v4).collect());
        let pool = PoolSource {
            reference: network.from_pool_ref.as_ref(),
            annotation: network.from_pool_annotation.as_ref(),
            name: network.ip_address_from_ip_pool.as_deref(),
        };
        all.push(Network { kind: "ipv4", is_v4: true, id, link, pool: Some(pool), routes });
    }
    for network in &networks.ipv6 {
        let (id, link, routes) = (&network.id, &network.link, network.routes.iter().map(v6).collect());
        let pool = PoolSource {
            reference: network.from_pool_ref.as_ref(),
            annotation: network.from_pool_annotation.as_ref(),
            name: network.ip_address_from_ip_pool.as_deref(),
        };
        all.push(Network { kind: "ipv6", is_v4: false, id, link, pool: Some(pool), routes });
    }
    for network in &networks.ipv4_dhcp {
        let (id, link, routes) = (&network.id, &network.link, network.routes.iter().map(v4).collect());
        all.push(Network { kind: "ipv4_dhcp", is_v4: true, id, link, pool: None, routes });
    }
    for (kind, networks) in [("ipv6_dhcp", &networks.ipv6_dhcp), ("ipv6_slaac", &networks.ipv6_slaac)] {
        for network in networks {
            let (id, link, routes) = (&network.id, &network.link, network.routes.iter().map(v6).collect());
            all.push(Network { kind, is_v4: false, id, link, pool: None, routes });
        }
    }
    all
}

fn v4(route: &NetworkDataRouteV4) -> Route<'_> {
    let services = route.services.as_ref();
    Route {
        network: &route.network,
        prefix: route.prefix.unwrap_or_default(),
        gateway: route.gateway.string.as_deref(),
        pool: PoolSource {
            reference: route.gateway.from_pool_ref.as_ref(),
            annotation: route.gateway.from_pool_annotation.as_ref(),
            name: route.gateway.from_ip_pool.as_deref(),
        },
        dns: services.map_or(&[], |services| &services.dns),
        dns_pool: services.and_then(|services| services.dns_from_ip_pool.as_deref()),
    }
}

fn v6(route: &NetworkDataRouteV6) -> Route<'_> {
    let services = route.services.as_ref();
    Route {
        network: &route.network,
        prefix: route.prefix.unwrap_or_default(),
        gateway: route.gateway.string.as_deref(),
        pool: PoolSource {
            reference: route.gateway.from_pool_ref.as_ref(),
            annotation: route.gateway.from_pool_annotation.as_ref(),
            name: route.gateway.from_ip_pool.as_deref(),
        },
        dns: services.map_or(&[], |services| &services.dns),
        dns_pool: services.and_then(|services| services.dns_from_ip_pool.as_deref()),
    }
}
