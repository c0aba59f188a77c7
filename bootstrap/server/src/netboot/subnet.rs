//! The options of machines in a network, as given on the command line.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use metal_boot::dhcp4::subnet::{Network, Range, Subnet};

/// `NETWORK/BITS` with the DHCP options for machines in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetOption(pub Subnet);

impl SubnetOption {
    /// Returns the same options for `network`, which has the server's address in it; `more` are additional pools.
    pub fn on(&self, network: Network, more: Vec<Range>) -> Subnet {
        let mut subnet = Subnet { network, ..self.0.clone() };
        subnet.pools.extend(more);
        if subnet.pools.is_empty() {
            // The address of the router must not be leased.
            let routers = &subnet.routers;
            let around = |pool: Range| match routers.iter().find(|router| pool.contains(**router)) {
                Some(router) => vec![
                    (pool.first.to_bits(), router.to_bits() - 1),
                    (router.to_bits() + 1, pool.last.to_bits()),
                ],
                None => vec![(pool.first.to_bits(), pool.last.to_bits())],
            };
            let parts = Subnet::upper_half(network).into_iter().flat_map(around);
            subnet.pools = parts
                .filter(|(first, last)| first <= last)
                .map(|(first, last)| Range { first: first.into(), last: last.into() })
                .collect();
        }
        subnet
    }
}

impl fmt::Display for SubnetOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subnet = &self.0;
        write!(f, "{}", subnet.network)?;
        subnet.routers.iter().try_for_each(|router| write!(f, ",router={router}"))?;
        subnet.name_servers.iter().try_for_each(|server| write!(f, ",dns={server}"))?;
        subnet.pools.iter().try_for_each(|pool| write!(f, ",pool={pool}"))
    }
}

impl FromStr for SubnetOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let network = parts.next().and_then(|network| network.parse::<Network>().ok());
        let network = network
            .ok_or_else(|| format!("{text:?} does not begin with a network: write it as 10.0.0.0/24"))?;
        let mut subnet = Subnet::new(network, Vec::new());
        for part in parts {
            let address = |value: &str| {
                value
                    .parse::<Ipv4Addr>()
                    .map_err(|_| format!("{part:?} is no IPv4 address: write it as 10.0.0.1"))
            };
            match part.split_once('=') {
                Some(("router", value)) => subnet.routers.push(address(value)?),
                Some(("dns", value)) => subnet.name_servers.push(address(value)?),
                Some(("pool", value)) => subnet.pools.push(value.parse()?),
                _ => {
                    return Err(format!(
                        "{part:?} is none of router=ADDRESS, dns=ADDRESS and pool=FIRST-LAST"
                    ));
                }
            }
        }
        subnet.problem().map_or(Ok(Self(subnet)), Err)
    }
}
