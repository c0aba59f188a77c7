//! Another DHCP server on the lab's network.

use std::net::Ipv4Addr;

use anyhow::Result;

use crate::elsewhere::Elsewhere;
use crate::lab::{BRIDGE, Lab};

/// Address of dnsmasq.
pub const DNSMASQ: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

const SCRIPT: &str = "ip link set dns up; ip address add \"$0\"/24 dev dns; ip address add fd77::2/64 dev dns nodad
    exec dnsmasq --keep-in-foreground --conf-file=/dev/null --log-facility=- --user=root --pid-file= --port=0 --interface=dns --no-ping --log-dhcp \
    --dhcp-range=10.77.0.50,10.77.0.99,5m \"$@\"";

/// A running dnsmasq; stopped when dropped.
pub struct Dnsmasq(Elsewhere);

impl Dnsmasq {
    /// Starts a dnsmasq that assigns addresses; `options` are its command-line options.
    ///
    /// # Errors
    /// Fails if it is not installed, or does not start.
    pub async fn start(lab: &Lab, options: &[&str]) -> Result<Self> {
        let leases = format!("--dhcp-leasefile={}", lab.file("dnsmasq.leases").display());
        let address = DNSMASQ.to_string();
        let arguments: Vec<&str> =
            [address.as_str(), &leases].into_iter().chain(options.iter().copied()).collect();
        let server = Self(Elsewhere::start(lab, "dnsmasq", &[(BRIDGE, "dns")], SCRIPT, &arguments).await?);
        server.0.comes_up("DHCP, IP range", "dnsmasq", "dnsmasq-base").await?;
        Ok(server)
    }

    /// Returns the log.
    pub fn log(&self) -> String {
        self.0.log()
    }
}
