//! Tests of `dhcp6::plan`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::Ipv6Addr;

use agent_protocol::dhcp::MacAddress;
use metal_boot::client::Processor;
use metal_boot::dhcp6::packet::{Kind, Options, Packet, identifier, option};
use metal_boot::dhcp6::plan::{Link, machine_of, plan};
use metal_boot::machine::{Boot, Machine};
use metal_boot::offer::Offer;

const MAC: MacAddress = MacAddress([0x52, 0x54, 0, 1, 2, 3]);

fn link(prefix: bool) -> Link {
    let offer = Offer {
        server: "fd00:1::1".parse().unwrap(),
        http_port: 8080,
        unified: [Processor::X86_64].into(),
        tftp: Default::default(),
    };
    let prefix = prefix.then(|| "fd00:1::".parse().unwrap());
    Link { interface: "eth0".into(), mac: MacAddress([2; 6]), prefix, known_only: false, offer }
}

fn request(kind: Kind, architecture: u16) -> Packet {
    let mut options = Options::default();
    options.add(option::CLIENT, identifier(MAC));
    options.add(option::ASSOCIATION, [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    options.add(option::ARCHITECTURES, architecture.to_be_bytes());
    Packet { kind, transaction: [1, 2, 3], options }
}

fn machine() -> Machine {
    Machine { boot: Boot::Agent, ..Machine::default() }
}

#[test]
fn a_machine_gets_its_address_and_its_boot_file() {
    let cases = [
        (
            Kind::Solicit,
            16,
            true,
            Some((Kind::Advertise, Some("http://[fd00:1::1]:8080/boot/uki/x86_64.efi"), true)),
        ),
        (Kind::Request, 7, true, Some((Kind::Reply, Some("tftp://[fd00:1::1]/uki/x86_64.efi"), true))),
        (Kind::Renew, 33, true, Some((Kind::Reply, None, true))),
        (Kind::Solicit, 16, false, None),
        (
            Kind::InformationRequest,
            16,
            false,
            Some((Kind::Reply, Some("http://[fd00:1::1]:8080/boot/uki/x86_64.efi"), false)),
        ),
        (
            Kind::Release,
            16,
            true,
            Some((Kind::Reply, Some("http://[fd00:1::1]:8080/boot/uki/x86_64.efi"), false)),
        ),
        (Kind::Reply, 16, true, None),
    ];
    for (kind, architecture, prefix, expected) in cases {
        let answer = plan(&request(kind, architecture), MAC, &machine(), &link(prefix));
        let got = answer.as_ref().map(|answer| {
            let url = answer.options.get(option::BOOT_FILE).map(|url| std::str::from_utf8(url).unwrap());
            (answer.kind, url, answer.options.get(option::ASSOCIATION).is_some())
        });
        assert_eq!(got, expected, "{kind:?}");
        if let Some(given) = answer.as_ref().and_then(|answer| answer.options.get(option::ASSOCIATION)) {
            let address = &given[16..32];
            assert_eq!(address, "fd00:1::5054:ff:fe01:203".parse::<Ipv6Addr>().unwrap().octets());
        }
    }
}

#[test]
fn among_strangers_only_known_machines_are_answered() {
    let link = Link { known_only: true, ..link(true) };
    for kind in [Kind::Solicit, Kind::Request, Kind::InformationRequest] {
        let answer = |known| {
            let machine = Machine { known, ..machine() };
            plan(&request(kind, 16), MAC, &machine, &link).is_some()
        };
        assert_eq!((answer(false), answer(true)), (false, true), "{kind:?}");
    }
}

#[test]
fn others_are_left_alone() {
    let mut other = request(Kind::Request, 16);
    other.options.add(option::SERVER, identifier(MacAddress([9; 6])));
    assert_eq!(plan(&other, MAC, &machine(), &link(true)), None);
    let near = "fe80::5054:ff:fe01:203".parse().unwrap();
    let mut named = request(Kind::Solicit, 16);
    assert_eq!(machine_of(&named, near), Some(MAC));
    named.options = Options(vec![(option::CLIENT, vec![0, 4, 1, 2])]);
    assert_eq!(machine_of(&named, near), Some(MAC), "its name is a UUID");
    assert_eq!(machine_of(&named, "fe80::1".parse().unwrap()), None);
}
