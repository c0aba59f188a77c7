//! The network boot options of `up` and `serve`.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use metal_boot::dhcp4::link::Mode;
use metal_boot::dhcp4::subnet::{Network, Range, Subnet};
use metal_boot::network::Interface;
use metal_boot::services::InterfaceConfiguration;
use metal_provisioning::{HTTP_PORT, HTTPS_PORT};

use super::subnet::SubnetOption;

/// The options for network boot.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Bare metal")]
pub struct NetbootOptions {
    /// Boot machines on the network of this interface, with DHCP, TFTP and HTTP; may be repeated. Instead of a name: the network in which the
    /// interface has an address, as 10.0.0.0/24. Needs root, or the capabilities CAP_NET_BIND_SERVICE and CAP_NET_RAW
    #[arg(long = "netboot-interface", value_name = "IFACE")]
    pub interfaces: Vec<String>,
    /// Address of these services, which is added to the interface while they run, and moves into the cluster with a pivot: ADDRESS/BITS
    /// [default: the addresses that the interface has]. The configuration of the interface must not have it. Needs CAP_NET_ADMIN
    #[arg(long = "netboot-address", value_name = "ADDRESS/BITS", requires = "interfaces")]
    pub address: Option<Network>,
    /// Assignment of IP addresses on that network
    #[arg(long = "netboot-dhcp", value_enum, default_value_t, requires = "interfaces")]
    pub dhcp: Dhcp,
    /// Addresses to assign: FIRST-LAST in the interface's network [default: the upper half of that network]; may be repeated
    #[arg(long = "netboot-pool", value_name = "FIRST-LAST", requires = "interfaces")]
    pub pools: Vec<Range>,
    /// Assign IPv6 addresses, too, in this network, in which the interface must have an address: PREFIX/64 [default: DHCPv6 only announces
    /// the boot file]
    #[arg(long = "netboot-prefix-v6", value_name = "PREFIX", value_parser = prefix_v6, requires = "interfaces")]
    pub prefix_v6: Option<Ipv6Addr>,
    /// DHCP settings of a network: its router, its name server, and the addresses to assign (as --netboot-pool). A network that no
    /// interface has is served through DHCP relays; may be repeated
    #[arg(
        long = "netboot-subnet",
        value_name = "NETWORK/BITS[,router=A][,dns=A][,pool=A-B]…",
        requires = "interfaces"
    )]
    pub subnets: Vec<SubnetOption>,
    /// Assign addresses even if another DHCP server answers on that network
    #[arg(long = "netboot-beside-dhcp-server", requires = "interfaces")]
    pub beside: bool,
    /// Ignore machines without a BareMetalHost or a reservation [default: they are inspected, and wait for approval]
    #[arg(long = "netboot-known-only", requires = "interfaces")]
    pub known_only: bool,
    /// A folder of images, served as http://ADDRESS:8080/images/
    #[arg(long = "netboot-images", value_name = "DIR", requires = "interfaces")]
    pub images: Option<PathBuf>,
    /// A bundle (`firstlight bundle`): its container images are served to nodes, its disk images to hosts, its boot files start machines, and
    /// `-f bundle:` applies its manifests; may be repeated, and of two files or images with one name the later is used
    #[arg(long = "bundle", value_name = "FILE")]
    pub bundles: Vec<PathBuf>,
    /// Additional kernel arguments for machines that run the agent, for example console=ttyS1,115200 for a serial console; may be repeated
    #[arg(
        long = "netboot-kernel-arguments",
        value_name = "ARGUMENTS",
        value_parser = kernel_arguments,
        allow_hyphen_values = true,
        requires = "interfaces"
    )]
    pub kernel_arguments: Vec<String>,
    /// An address of this machine at which BMCs are emulated, as by sushy-tools or VirtualBMC; may be repeated. Hosts whose BMC would be at
    /// another address of this machine are refused
    #[arg(
        long = "bmc-on-this-machine",
        value_name = "ADDRESS:PORT",
        value_parser = bmc_here,
        value_delimiter = ',',
        env = "FIRSTLIGHT_BMC_ON_THIS_MACHINE"
    )]
    pub bmcs_here: Vec<SocketAddr>,
    /// Port of HTTP on these interfaces
    #[arg(long = "netboot-http-port", value_name = "PORT", default_value_t = HTTP_PORT, requires = "interfaces")]
    pub http_port: u16,
    /// Port of HTTPS on these interfaces, for agents
    #[arg(long = "netboot-https-port", value_name = "PORT", default_value_t = HTTPS_PORT, requires = "interfaces")]
    pub https_port: u16,
}

/// The assignment of IP addresses by DHCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Dhcp {
    /// This server assigns addresses and announces the boot file
    #[default]
    Full,
    /// Another server assigns addresses; this server only announces the boot file
    Proxy,
    /// This server assigns addresses only to hosts that it knows
    Reservations,
    /// This server does not answer DHCP requests: machines boot from virtual media
    Off,
}

impl NetbootOptions {
    /// Fails if a BMC would be what listens at a port of this server; `api` is that of the API.
    ///
    /// # Errors
    /// `--bmc-on-this-machine` names such a port.
    pub fn refuse_own_ports(&self, api: Option<u16>) -> Result<()> {
        let boots = !self.interfaces.is_empty();
        let ports = [api, boots.then_some(self.http_port), boots.then_some(self.https_port)];
        match self.bmcs_here.iter().find(|address| ports.contains(&Some(address.port()))) {
            Some(address) => {
                bail!("--bmc-on-this-machine {address}: this server itself listens at that port")
            }
            None => Ok(()),
        }
    }

    /// Returns the options with the names of the interfaces instead of their networks.
    ///
    /// # Errors
    /// No interface is in a network, or there are several interfaces for one address.
    pub(super) fn with_names(&self) -> Result<Self> {
        let name = |interface: &String| match interface.parse::<Network>() {
            Ok(network) => Ok(Interface::in_network(network)?),
            Err(_) => Ok(interface.clone()),
        };
        let interfaces: Vec<String> = self.interfaces.iter().map(name).collect::<Result<_>>()?;
        if let (Some(address), [_, _, ..]) = (self.address, interfaces.as_slice()) {
            bail!("--netboot-address {address}: only possible with one --netboot-interface");
        }
        Ok(Self { interfaces, ..self.clone() })
    }

    /// Returns the arguments of the same services on another machine, where the interface is the one in their network. Bundles, and the folder
    /// of images, are not among them.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |name: &str, value: String| all.push(format!("--netboot-{name}={value}"));
        match self.address {
            Some(address) => {
                add("interface", Network { address: address.first(), ..address }.to_string());
                add("address", address.to_string());
            }
            None => self.interfaces.iter().for_each(|name| add("interface", name.clone())),
        }
        let dhcp = self.dhcp.to_possible_value();
        dhcp.iter().for_each(|value| add("dhcp", value.get_name().to_owned()));
        self.pools.iter().for_each(|pool| add("pool", pool.to_string()));
        self.prefix_v6.iter().for_each(|prefix| add("prefix-v6", format!("{prefix}/64")));
        self.subnets.iter().for_each(|subnet| add("subnet", subnet.to_string()));
        self.kernel_arguments.iter().for_each(|arguments| add("kernel-arguments", arguments.clone()));
        add("http-port", self.http_port.to_string());
        add("https-port", self.https_port.to_string());
        let flags = [(self.beside, "beside-dhcp-server"), (self.known_only, "known-only")];
        all.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| format!("--netboot-{name}")));
        all
    }

    /// Returns the interface `name` with the addresses that are served.
    ///
    /// # Errors
    /// There is no such interface, or it does not have the address.
    pub(super) fn interface(&self, name: &str) -> Result<Interface> {
        Ok(Interface::find(name)?.only(self.address.map(|network| network.address))?)
    }

    /// Returns the configuration of each interface.
    ///
    /// # Errors
    /// A pool is outside of the networks of all interfaces.
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
            configuration.address = self.address.map(|network| network.address);
            configuration.beside_other_server = self.beside;
            configuration.prefix_v6 = self.prefix_v6;
            let networks = self.interface(name)?.networks;
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

    /// Fails for a pool that no interface serves.
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

/// Parses an address of this machine at which BMCs may be.
pub fn bmc_here(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "must be an address with a port, such as 192.0.2.1:8000".to_owned())?;
    bmc::network::check(address.ip()).map(|()| address)
}

/// Checks kernel arguments, which must fit into a line of iPXE's scripts and into a unified image.
pub fn kernel_arguments(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
    if let Some(wrong) = text.chars().find(|c| !is_plain(*c)) {
        return Err(format!("{wrong:?} cannot stand in the kernel's arguments: they are one line of ASCII"));
    }
    // iPXE would interpret these, and the kernel would not see them.
    if let Some(wrong) = ["||", "&&", "${"].into_iter().find(|sign| text.contains(sign)) {
        return Err(format!("kernel arguments cannot contain {wrong}, because iPXE would interpret it"));
    }
    Ok(text.to_owned())
}

/// Parses a network like `fd00:1::/64`.
pub fn prefix_v6(text: &str) -> Result<Ipv6Addr, String> {
    let prefix = text.strip_suffix("/64").and_then(|prefix| prefix.parse::<Ipv6Addr>().ok());
    match prefix.filter(|prefix| prefix.octets()[8..] == [0; 8]) {
        Some(prefix) => Ok(prefix),
        None => Err("must be a network of 64 bits, such as fd00:1::/64".to_owned()),
    }
}
