//! DHCP messages for tests.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::{Kind, MacAddress, Options, Packet};

/// The discover message of a machine.
pub fn discover(mac: MacAddress) -> Packet {
    Packet {
        reply: false,
        kind: Kind::Discover,
        hops: 0,
        transaction: 7,
        seconds: 0,
        broadcast: false,
        client: Ipv4Addr::UNSPECIFIED,
        yours: Ipv4Addr::UNSPECIFIED,
        next_server: Ipv4Addr::UNSPECIFIED,
        relay: Ipv4Addr::UNSPECIFIED,
        mac,
        server_name: String::new(),
        file: String::new(),
        options: Options::default(),
    }
}
