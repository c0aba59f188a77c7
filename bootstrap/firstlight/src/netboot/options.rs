//! Options of `up` and `serve` for starting machines over the network.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use netboot::dhcp4::plan::Mode;
use netboot::dhcp4::subnet::{Network, Range, Subnet};
use netboot::network::Interface;
use netboot::{HTTP_PORT, HTTPS_PORT, InterfaceConfiguration};

/// Starting machines over the network.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Bare metal")]
pub struct NetbootOptions {
    /// Start machines over the network of this interface, and no other: DHCP, TFTP, HTTP; may be repeated. Needs root
    #[arg(long = "netboot-interface", value_name = "IFACE")]
    pub interfaces: Vec<String>,
    /// Who gives addresses on that network
    #[arg(long = "netboot-dhcp", value_enum, default_value_t, requires = "interfaces")]
    pub dhcp: Dhcp,
    /// Addresses to give: FIRST-LAST in the interface's network [default: the upper half of that network]; may be repeated
    #[arg(long = "netboot-pool", value_name = "FIRST-LAST", requires = "interfaces")]
    pub pools: Vec<Range>,
    /// What machines in a network are told: its router, its name server, and the addresses to give (as --netboot-pool). A network that no
    /// interface has is one behind DHCP relays; may be repeated
    #[arg(
        long = "netboot-subnet",
        value_name = "NETWORK/BITS[,router=A][,dns=A][,pool=A-B]…",
        requires = "interfaces"
    )]
    pub subnets: Vec<SubnetOption>,
    /// Give addresses although another DHCP server answers
    #[arg(long = "netboot-beside-dhcp-server", requires = "interfaces")]
    pub beside: bool,
    /// Leave machines alone that no BareMetalHost and no reservation describes; otherwise they are inspected, and wait for approval
    #[arg(long = "netboot-known-only", requires = "interfaces")]
    pub known_only: bool,
    /// A folder of images, served as http://ADDRESS:8080/images/
    #[arg(long = "netboot-images", value_name = "DIR", requires = "interfaces")]
    pub images: Option<PathBuf>,
    /// Port of HTTP on these interfaces
    #[arg(long = "netboot-http-port", value_name = "PORT", default_value_t = HTTP_PORT, requires = "interfaces")]
    pub http_port: u16,
    /// Port of HTTPS on these interfaces, for agents
    #[arg(long = "netboot-https-port", value_name = "PORT", default_value_t = HTTPS_PORT, requires = "interfaces")]
    pub https_port: u16,
}

/// Who gives addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Dhcp {
    /// This server gives addresses and says what to boot
    #[default]
    Full,
    /// Another server gives addresses; this one only says what to boot
    Proxy,
    /// This server gives addresses to hosts that it knows, and to nobody else
    Reservations,
    /// This server neither gives addresses nor says what to boot: machines start from virtual media
    Off,
}

impl NetbootOptions {
    /// What each interface serves.
    ///
    /// # Errors
    /// Pools outside of the interface's network.
    pub fn configurations(&self) -> Result<Vec<InterfaceConfiguration>> {
        let mut found = Vec::new();
        for name in &self.interfaces {
            let mut configuration = InterfaceConfiguration::new(name.clone());
            configuration.mode = match self.dhcp {
                Dhcp::Full => Some(Mode::Full),
                Dhcp::Proxy => Some(Mode::Proxy),
                Dhcp::Reservations => Some(Mode::Reservations),
                Dhcp::Off => None,
            };
            configuration.beside_other_server = self.beside;
            let networks = Interface::find(name)?.networks;
            for network in &networks {
                let inside = |pool: &&Range| network.contains(pool.first);
                let pools: Vec<Range> = self.pools.iter().filter(inside).copied().collect();
                let told = self.subnets.iter().find(|told| network.contains(told.0.network.address));
                match told {
                    Some(told) => configuration.subnets.push(told.on(*network, pools)),
                    None if pools.is_empty() => {}
                    None => configuration.subnets.push(Subnet::new(*network, pools)),
                }
            }
            let is_far = |told: &&SubnetOption| {
                !networks.iter().any(|network| network.contains(told.0.network.address))
            };
            let far = self.subnets.iter().filter(is_far);
            configuration.subnets.extend(far.map(|told| told.on(told.0.network, Vec::new())));
            found.push(configuration);
        }
        self.check(&found)?;
        Ok(found)
    }

    /// A pool that no interface serves is a mistake.
    fn check(&self, configurations: &[InterfaceConfiguration]) -> Result<()> {
        let is_served = |first: Ipv4Addr| {
            configurations.iter().flat_map(|one| &one.subnets).any(|subnet| subnet.network.contains(first))
        };
        match self.pools.iter().find(|pool| !is_served(pool.first)) {
            Some(pool) => bail!(
                "--netboot-pool {}-{}: no interface of --netboot-interface has an address in that network",
                pool.first,
                pool.last
            ),
            None => Ok(()),
        }
    }
}

/// `NETWORK/BITS`, and what machines in it are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetOption(Subnet);

impl SubnetOption {
    /// The same for a network in which this server, or nobody, has the address of `network`; `more` are addresses to give.
    fn on(&self, network: Network, more: Vec<Range>) -> Subnet {
        let mut subnet = Subnet { network, ..self.0.clone() };
        subnet.pools.extend(more);
        if subnet.pools.is_empty() {
            // Nobody gets the router's address.
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

impl FromStr for SubnetOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let network = parts.next().and_then(|network| {
            let (address, bits) = network.split_once('/')?;
            let prefix = bits.parse().ok().filter(|prefix| *prefix <= 30)?;
            Some(Network { address: address.parse().ok()?, prefix })
        });
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
mod subnet_tests {
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
