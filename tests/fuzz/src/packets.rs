//! Parsers of packets from machines that boot over the network.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

use agent::testing::answer;
use agent::testing::lldp::Neighbour;
use agent::tpm::EndorsementKey;
use agent_protocol::dhcp::{MacAddress, Packet};
use chrono::DateTime;
use metal_boot::client::Processor;
use metal_boot::dhcp4::leases::Leases;
use metal_boot::dhcp4::link::{Known, Link, Mode};
use metal_boot::dhcp4::plan::plan;
use metal_boot::dhcp4::subnet::{Network, Subnet};
use metal_boot::machine::{Boot, Machine};
use metal_boot::offer::Offer;
use metal_boot::tftp::packet::{Message, Options};
use metal_boot::{dhcp6, router};

use crate::readers::Reader;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn offer() -> Offer {
    Offer {
        server: SERVER.into(),
        http_port: 8080,
        unified: BTreeSet::from([Processor::X86_64]),
        tftp: BTreeSet::from(["undionly.kpxe".to_owned(), "snponly.efi".to_owned()]),
    }
}

/// A server whose leases last for the whole run.
pub fn dhcp() -> Reader {
    let pool = "10.0.0.100-10.0.0.199".parse().expect("a range");
    let subnet = Subnet::new(Network { address: SERVER, prefix: 24 }, vec![pool]);
    let link = |mode| Link {
        interface: "eth0".into(),
        mode,
        server: SERVER,
        subnets: vec![subnet.clone()],
        offer: offer(),
    };
    let links = [link(Mode::Full), link(Mode::Proxy)];
    let machine = Machine { boot: Boot::Agent, ..Machine::default() };
    let mut leases = Leases::default();
    Box::new(move |bytes| {
        let request = match Packet::read(bytes) {
            Ok(request) => request,
            Err(error) => return format!("{error:?}").chars().take_while(|c| c.is_alphabetic()).collect(),
        };
        assert!(Packet::read(&request.write(usize::MAX)).is_ok(), "what is written is read");
        let mut like = format!("{:?}", request.kind);
        for (link, port) in [(&links[0], 67), (&links[1], 67), (&links[1], 4011)] {
            let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 100), 68);
            let known = Known {
                link,
                port,
                source,
                machine: &machine,
                reserved: &|_| None,
                now: DateTime::UNIX_EPOCH,
            };
            let outcome = plan(&request, &known, &mut leases);
            if let Some(lease) = outcome.lease {
                assert!(subnet.leases(lease.address), "{} is not to be leased", lease.address);
                leases.set(lease);
            }
            let Some(answer) = outcome.answer else { continue };
            let written = answer.packet.write(answer.largest);
            assert!(
                written.len() <= answer.largest,
                "{} bytes are more than the client takes",
                written.len()
            );
            let read = Packet::read(&written).expect("an answer is a message");
            assert_eq!((read.transaction, read.mac), (request.transaction, request.mac));
            like.push_str(&format!(" {:?}", read.kind));
        }
        like
    })
}

/// Parses DHCPv6 messages and computes the replies.
pub fn dhcp6(bytes: &[u8]) -> String {
    let Some(request) = dhcp6::packet::Packet::read(bytes) else { return "none".into() };
    assert_eq!(request.write(), bytes, "what is written is what was read");
    let link = dhcp6::plan::Link {
        interface: "eth0".into(),
        mac: MacAddress([2; 6]),
        prefix: Some(Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 0)),
        known_only: false,
        offer: offer(),
    };
    let machine = Machine { boot: Boot::Agent, ..Machine::default() };
    let answer = dhcp6::plan::plan(&request, MacAddress([1; 6]), &machine, &link);
    if let Some(answer) = &answer {
        assert_eq!(dhcp6::packet::Packet::read(&answer.write()).as_ref(), Some(answer));
    }
    format!("{:?} {:?}", request.kind, answer.map(|answer| answer.options.0.len()))
}

/// Parses TFTP messages and router solicitations.
pub fn tftp(bytes: &[u8]) -> String {
    let solicitation = router::read_solicitation(bytes);
    let kind = match Message::read(bytes) {
        Some(Message::Read(request)) => {
            if let Some(answer) = request.options.acknowledgement(1) {
                assert!(Message::read(&answer).is_none(), "no client says that");
            }
            let Options { block, window, timeout, size } = request.options;
            format!("read {} {} {} {size}", block.is_some(), window.is_some(), timeout.is_some())
        }
        Some(Message::Acknowledge(_)) => "acknowledge".into(),
        Some(Message::Error(..)) => "error".into(),
        Some(Message::Write) => "write".into(),
        None => "none".into(),
    };
    format!("{kind} {}", solicitation.is_some())
}

/// Parses LLDP announcements of switches.
pub fn lldp(bytes: &[u8]) -> String {
    let Some(switch) = Neighbour::read(bytes) else { return "none".into() };
    let names = switch.vlans.iter().map(|(_, name)| name).chain(&switch.system_name);
    for text in names.chain([&switch.switch_id, &switch.port_id]) {
        assert!(!text.chars().any(char::is_control), "{text:?} goes to terminals");
    }
    let numbers: BTreeSet<u16> = switch.vlans.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers.len(), switch.vlans.len(), "each VLAN once");
    assert!(numbers.iter().chain(&switch.untagged).all(|number| (1..=4094).contains(number)));
    let vlans = (switch.untagged.is_some(), numbers.len());
    format!("{} {vlans:?} {}", switch.system_name.is_some(), switch.leaves)
}

/// Parses TPM responses and endorsement keys.
pub fn tpm(bytes: &[u8]) -> String {
    let key = EndorsementKey::read(bytes).ok();
    if let Some(key) = &key {
        assert_eq!(EndorsementKey::read(&key.public()).ok().as_ref(), Some(key), "what is written is read");
        assert_eq!(key.point().len(), 65);
    }
    let read = answer(bytes, 1).map(|(handles, mut reader)| {
        let first = reader.sized().map(EndorsementKey::read).is_ok_and(|key| key.is_ok());
        (handles.len(), first, reader.rest().is_empty())
    });
    format!("{} {:?}", key.is_some(), read.ok())
}
