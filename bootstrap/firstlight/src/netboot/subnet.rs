//! The options of machines in a network, as given on the command line.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use metal_boot::dhcp4::subnet::{Network, Range, Subnet};

/// `NETWORK/BITS` with the DHCP options for machines in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetOption(pub(super) Subnet);

impl SubnetOption {
    /// Returns the same options for `network`, which has the server's address in it; `more` are additional pools.
    pub(super) fn on(&self, network: Network, more: Vec<Range>) -> Subnet {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_with_what_their_machines_are_told() {
        let read = |text: &str| text.parse::<SubnetOption>().map(|told| told.0);
        let whole = read("10.78.0.0/24,router=10.78.0.1,dns=10.78.0.53,pool=10.78.0.50-10.78.0.59").unwrap();
        let address = |last| Ipv4Addr::new(10, 78, 0, last);
        assert_eq!((whole.routers, whole.name_servers), (vec![address(1)], vec![address(53)]));
        assert_eq!(whole.pools, [Range { first: address(50), last: address(59) }]);
        let half: SubnetOption = "10.78.0.0/24,router=10.78.0.200".parse().unwrap();
        let own = half.on(Network { address: address(201), prefix: 24 }, Vec::new());
        let given = (128..=254).filter(|last| own.leases(address(*last)));
        assert_eq!(given.count(), 125, "neither the router's nor this server's: {:?}", own.pools);
        let more = Range { first: address(10), last: address(19) };
        assert_eq!(half.on(half.0.network, vec![more]).pools, [more]);
        for (wrong, part) in [
            ("10.78.0.0", "10.0.0.0/24"),
            ("10.78.0.0/31", "10.0.0.0/24"),
            ("10.78.0.0/24,router=x", "router=x"),
            ("10.78.0.0/24,gateway=10.78.0.1", "router=ADDRESS"),
            ("10.78.0.0/24,pool=10.79.0.1-10.79.0.9", "10.79.0"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
