//! A test server of the network 10.77.0.0/24, and its answers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use agent_protocol::dhcp::Packet;
use chrono::DateTime;
use metal_boot::client::Processor;
use metal_boot::dhcp4::answer::Answer;
use metal_boot::dhcp4::leases::Leases;
use metal_boot::dhcp4::link::{Known, Link, Mode};
use metal_boot::dhcp4::plan::plan;
use metal_boot::dhcp4::subnet::{Network, Subnet};
use metal_boot::machine::{Boot, Machine};
use metal_boot::offer::Offer;

pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// An offer with unified images for all processors and the given TFTP files.
pub fn offer(server: IpAddr, tftp: &[&str]) -> Offer {
    let tftp = tftp.iter().map(|name| (*name).to_owned()).collect();
    Offer { server, http_port: 8080, unified: [Processor::X86_64, Processor::Aarch64].into(), tftp }
}

/// A machine that boots the agent.
pub fn machine() -> Machine {
    Machine { boot: Boot::Agent, ..Machine::default() }
}

/// Returns the answer to the machine's message if these TFTP files are served.
pub fn answer(request: &Packet, tftp: &[&str], leases: &mut Leases) -> Answer {
    let pool = "10.77.0.128-10.77.0.254".parse().unwrap();
    let link = Link {
        interface: "br0".into(),
        mode: Mode::Full,
        server: SERVER,
        subnets: vec![Subnet::new(Network { address: SERVER, prefix: 24 }, vec![pool])],
        offer: offer(SERVER.into(), tftp),
    };
    let known = Known {
        link: &link,
        port: 67,
        source: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68),
        machine: &machine(),
        reserved: &|_| None,
        now: DateTime::UNIX_EPOCH,
    };
    plan(request, &known, leases).answer.expect("an answer")
}
