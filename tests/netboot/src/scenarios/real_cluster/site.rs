//! The site: a network without a way out, and three machines with BMCs, which are switched off.

use std::net::UdpSocket;
use std::sync::Arc;

use anyhow::{Result, ensure};

use super::super::redfish;
use super::{BMCS, LAPTOP};
use crate::lab::{BRIDGE, Lab, run};
use crate::machine::{Design, Firmware, Machine};
use crate::outside::Outside;
use crate::scenario::Scenario;

/// The port of a BMC.
pub(super) const HTTPS: u16 = 443;

/// The site.
pub(super) struct Site {
    pub lab: Lab,
    pub machines: Vec<Arc<Machine>>,
    pub outside: Outside,
}

impl Site {
    pub(super) async fn new() -> Result<Self> {
        let lab = Lab::at(&[&[LAPTOP], &BMCS[..]].concat()).await?;
        let outside = Outside::watch()?;
        sees_packets(&outside).await?;
        let mut machines = Vec::new();
        for (number, address) in (0..).zip(BMCS) {
            let machine = Arc::new(Machine::new(&lab, design(number)).await?);
            redfish::bmc(&machine, (address, HTTPS).into()).await?;
            machines.push(machine);
        }
        Ok(Self { lab, machines, outside })
    }
}

/// Returns the configuration of a machine.
pub(super) fn design(number: u8) -> Design {
    Design { processors: 2, memory: 2560, ..Scenario::design(number, Firmware::Bios) }
}

/// Sends a packet to an address outside, over a route that is there only for that: it must be seen.
async fn sees_packets(outside: &Outside) -> Result<()> {
    let (network, router, to) = ("192.0.2.0/24", "192.0.2.1", "192.0.2.1:9");
    run("ip", &["route", "add", network, "dev", BRIDGE]).await?;
    run("ip", &["neighbour", "add", router, "lladdr", "02:00:00:00:00:01", "dev", BRIDGE]).await?;
    UdpSocket::bind("0.0.0.0:0")?.send_to(b"outside", to)?;
    ensure!(outside.is_silent().is_err(), "a packet to {to} was not seen");
    run("ip", &["neighbour", "delete", router, "dev", BRIDGE]).await?;
    run("ip", &["route", "delete", network, "dev", BRIDGE]).await?;
    Ok(())
}
