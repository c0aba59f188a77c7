//! Table tests of [`plan`].
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::metal_boot::discover::discover;
use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};
use chrono::{DateTime, Utc};
use metal_boot::client::Processor;
use metal_boot::dhcp4::answer::Outcome;
use metal_boot::dhcp4::leases::Leases;
use metal_boot::dhcp4::link::{Known, Link, Mode, PXE_PORT};
use metal_boot::dhcp4::plan::plan;
use metal_boot::dhcp4::subnet::{Network, Subnet};
use metal_boot::machine::{Boot, Machine};
use metal_boot::offer::Offer;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const MAC: MacAddress = MacAddress([0x52, 0x54, 0, 0, 0, 1]);

fn link(mode: Mode) -> Link {
    let subnet = |address: Ipv4Addr, pool: &str| {
        Subnet::new(Network { address, prefix: 24 }, vec![pool.parse().unwrap()])
    };
    Link {
        interface: "eth0".into(),
        mode,
        server: SERVER,
        subnets: vec![
            subnet(SERVER, "10.0.0.100-10.0.0.101"),
            subnet(Ipv4Addr::new(10, 9, 0, 1), "10.9.0.50-10.9.0.59"),
        ],
        offer: Offer {
            server: SERVER.into(),
            http_port: 8080,
            unified: BTreeSet::from([Processor::X86_64]),
            tftp: BTreeSet::new(),
        },
    }
}

/// A server with one interface, and the state of one machine.
struct Bench {
    link: Link,
    leases: Leases,
    machine: Machine,
    now: DateTime<Utc>,
    port: u16,
}

impl Bench {
    fn new(mode: Mode) -> Self {
        let machine = Machine { boot: Boot::Agent, ..Machine::default() };
        Self { link: link(mode), leases: Leases::default(), machine, now: DateTime::UNIX_EPOCH, port: 67 }
    }

    fn ask(&mut self, request: &Packet) -> Outcome {
        let reserved = |_| None;
        let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 77), 4011);
        let known = Known {
            link: &self.link,
            port: self.port,
            source,
            machine: &self.machine,
            reserved: &reserved,
            now: self.now,
        };
        let outcome = plan(request, &known, &mut self.leases);
        if let Some(lease) = &outcome.lease {
            self.leases.set(lease.clone());
        }
        outcome
    }

    fn answer(&mut self, request: &Packet) -> Option<(Kind, Ipv4Addr, SocketAddrV4)> {
        let answer = self.ask(request).answer?;
        Some((answer.packet.kind, answer.packet.yours, answer.to))
    }

    /// Returns the address that a machine gets by an offer and a request.
    fn start(&mut self, mac: MacAddress) -> Ipv4Addr {
        let offer = self.ask(&discover(mac)).answer.unwrap().packet;
        let outcome = self.ask(&request(
            mac,
            &[(options::SERVER_IDENTIFIER, SERVER), (options::REQUESTED_ADDRESS, offer.yours)],
        ));
        assert_eq!(outcome.answer.unwrap().packet.kind, Kind::Acknowledge);
        offer.yours
    }
}

fn request(mac: MacAddress, addresses: &[(u8, Ipv4Addr)]) -> Packet {
    let mut packet = Packet { kind: Kind::Request, ..discover(mac) };
    for (code, address) in addresses {
        packet.options.set(*code, address.octets());
    }
    packet
}

fn pxe(mut packet: Packet, class: &str, architecture: u16) -> Packet {
    packet.options.set(options::VENDOR_CLASS, class);
    packet.options.set(options::ARCHITECTURE, architecture.to_be_bytes());
    packet.options.set(options::MACHINE_IDENTIFIER, [0; 17]);
    packet
}

fn to_all() -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::BROADCAST, 68)
}

#[test]
fn one_machine_has_one_address_whatever_it_calls_itself() {
    let mut bench = Bench::new(Mode::Full);
    let first = bench.start(MAC);
    for name in ["firmware", "ipxe", "system"] {
        bench.now += chrono::Duration::seconds(1);
        let mut packet = discover(MAC);
        packet.options.set(options::CLIENT_IDENTIFIER, name);
        let answer = bench.ask(&packet).answer.unwrap();
        assert_eq!(answer.packet.yours, first);
        assert_eq!(answer.packet.options.get(options::CLIENT_IDENTIFIER), Some(name.as_bytes()));
    }
    let others: BTreeSet<Ipv4Addr> = [bench.start(MacAddress([2; 6])), first].into();
    assert_eq!(others.len(), 2);
    let outcome = bench.ask(&discover(MacAddress([3; 6])));
    assert!(
        outcome.answer.is_none() && outcome.warning.is_some_and(|text| text.contains("pool")),
        "all are taken"
    );
}

#[test]
fn requests_in_every_state() {
    let mut bench = Bench::new(Mode::Full);
    let mine = bench.start(MAC);
    let other = Ipv4Addr::new(10, 0, 0, 66);
    let direct = SocketAddrV4::new(mine, 68);
    let client = |address| Packet { client: address, ..request(MAC, &[]) };
    let (server, requested) = (options::SERVER_IDENTIFIER, options::REQUESTED_ADDRESS);
    let cases = [
        (
            "selecting",
            request(MAC, &[(server, SERVER), (requested, mine)]),
            Some((Kind::Acknowledge, mine, to_all())),
        ),
        ("another server", request(MAC, &[(server, other), (requested, other)]), None),
        ("restarted", request(MAC, &[(requested, mine)]), Some((Kind::Acknowledge, mine, to_all()))),
        (
            "restarted elsewhere",
            request(MAC, &[(requested, other)]),
            Some((Kind::Refuse, Ipv4Addr::UNSPECIFIED, to_all())),
        ),
        ("renewing", client(mine), Some((Kind::Acknowledge, mine, direct))),
        ("renewing another's", client(other), Some((Kind::Refuse, Ipv4Addr::UNSPECIFIED, to_all()))),
        ("nothing asked", request(MAC, &[]), None),
        (
            "inform",
            Packet { kind: Kind::Inform, ..client(mine) },
            Some((Kind::Acknowledge, Ipv4Addr::UNSPECIFIED, direct)),
        ),
        ("a reply", Packet { reply: true, ..discover(MAC) }, None),
    ];
    for (name, packet, expected) in cases {
        assert_eq!(bench.answer(&packet), expected, "{name}");
    }
}

#[test]
fn a_lease_is_written_once_a_start_and_before_what_the_machine_is_told_ends() {
    let mut bench = Bench::new(Mode::Full);
    let mine = bench.start(MAC);
    let again = request(MAC, &[(options::REQUESTED_ADDRESS, mine)]);
    for seconds in 0..5000 {
        bench.now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(seconds);
        let outcome = bench.ask(&again);
        let answer = outcome.answer.unwrap().packet;
        let told: [u8; 4] = answer.options.get(options::LEASE_TIME).unwrap().try_into().unwrap();
        let until = bench.now + chrono::Duration::seconds(u32::from_be_bytes(told).into());
        assert!(bench.leases.of(MAC).unwrap().expires >= until, "after {seconds} s");
        assert!(outcome.lease.is_none() || seconds % 901 == 0, "written after {seconds} s");
    }
}

#[test]
fn what_a_machine_gives_back_or_finds_in_use_is_not_its_own() {
    let mut bench = Bench::new(Mode::Full);
    let mine = bench.start(MAC);
    let release = Packet { kind: Kind::Release, client: mine, ..discover(MAC) };
    let released = bench.ask(&release);
    assert!(released.answer.is_none());
    assert_eq!(released.lease.map(|lease| lease.expires), Some(bench.now));
    assert_eq!(bench.start(MAC), mine, "it gets the address again");
    let mut decline = Packet { kind: Kind::Decline, ..discover(MAC) };
    decline.options.set(options::REQUESTED_ADDRESS, mine.octets());
    assert!(bench.ask(&decline).warning.is_some());
    assert_ne!(bench.start(MAC), mine);
}

#[test]
fn reservations() {
    let reserved = Ipv4Addr::new(10, 0, 0, 9);
    for mode in [Mode::Full, Mode::Reservations] {
        let mut bench = Bench::new(mode);
        bench.machine.reserved = Some(reserved);
        bench.machine.host_name = Some("node-1".into());
        let answer = bench.ask(&discover(MAC)).answer.unwrap().packet;
        assert_eq!(answer.yours, reserved);
        assert_eq!(answer.options.get(options::HOST_NAME), Some(b"node-1".as_slice()));
        assert_eq!(bench.start(MAC), reserved);
        bench.machine.reserved = Some(Ipv4Addr::new(10, 0, 0, 10));
        let renewal = Packet { client: reserved, ..request(MAC, &[]) };
        assert_eq!(bench.answer(&renewal).unwrap().0, Kind::Refuse, "the reservation has changed");
    }
    let mut bench = Bench::new(Mode::Reservations);
    assert_eq!(bench.ask(&discover(MAC)), Outcome::default());
    assert_eq!(bench.ask(&request(MAC, &[(options::REQUESTED_ADDRESS, reserved)])), Outcome::default());
}

#[test]
fn a_reserved_address_that_another_machine_uses_is_not_given() {
    let mut bench = Bench::new(Mode::Full);
    let used = bench.start(MAC);
    let other = MacAddress([0x52, 0x54, 0, 0, 0, 9]);
    bench.machine.reserved = Some(used);
    assert_ne!(bench.start(other), used);
    bench.now += chrono::Duration::days(1);
    assert_eq!(bench.start(other), used, "the lease has ended");
}

#[test]
fn relays() {
    let mut bench = Bench::new(Mode::Full);
    let relay = Ipv4Addr::new(10, 9, 0, 1);
    let behind = |address| {
        let mut packet = Packet { relay: address, ..discover(MAC) };
        packet.options.set(options::RELAY_INFORMATION, *b"\x01\x04eth3");
        packet
    };
    let answer = bench.ask(&behind(relay)).answer.unwrap();
    assert_eq!(answer.to, SocketAddrV4::new(relay, 67));
    assert_eq!((answer.packet.relay, answer.packet.yours.octets()[1]), (relay, 9));
    let last = answer.packet.options.iter().last();
    assert_eq!(last, Some((options::RELAY_INFORMATION, b"\x01\x04eth3".as_slice())));
    let nowhere = bench.ask(&behind(Ipv4Addr::new(10, 8, 0, 1)));
    assert!(nowhere.answer.is_none() && nowhere.warning.is_some());
    // The relay has an address of another network and names the client's network.
    let mut named = behind(Ipv4Addr::new(10, 8, 0, 1));
    named.options.set(options::RELAY_INFORMATION, [5, 4, 10, 9, 0, 0]);
    assert_eq!(bench.ask(&named).answer.unwrap().packet.yours.octets()[1], 9);
}

#[test]
fn a_proxy_gives_no_address_and_answers_only_who_boots() {
    let mut bench = Bench::new(Mode::Proxy);
    let uefi = pxe(discover(MAC), "PXEClient:Arch:00007:UNDI:003016", 7);
    assert_eq!(bench.ask(&discover(MAC)), Outcome::default(), "a system");
    let offer = bench.ask(&uefi).answer.unwrap();
    let packet = &offer.packet;
    assert_eq!((packet.kind, packet.yours, packet.next_server), (Kind::Offer, Ipv4Addr::UNSPECIFIED, SERVER));
    assert_eq!((offer.to, packet.file.as_str()), (to_all(), "uki/x86_64.efi"));
    assert_eq!(packet.options.get(options::VENDOR_CLASS), Some(b"PXEClient".as_slice()));
    assert_eq!(packet.options.get(options::VENDOR_SPECIFIC), Some([6, 1, 8, 255].as_slice()));
    assert!(packet.options.get(options::LEASE_TIME).is_none());
    let asked = pxe(request(MAC, &[]), "PXEClient:Arch:00007:UNDI:003016", 7);
    assert_eq!(bench.ask(&asked), Outcome::default(), "the request for an address is another server's");
    bench.port = PXE_PORT;
    let answer = bench.ask(&asked).answer.unwrap();
    assert_eq!((answer.packet.kind, answer.from), (Kind::Acknowledge, PXE_PORT));
    assert_eq!(answer.to, SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 77), 4011));
    // A machine without a BareMetalHost that must not start the agent is left to the other server.
    bench.port = 67;
    bench.machine = Machine::default();
    assert_eq!(bench.ask(&uefi), Outcome::default());
    bench.machine.known = true;
    assert_eq!(bench.ask(&uefi).answer.unwrap().packet.file, "start-from-disk");
}

#[test]
fn each_program_is_told_its_file() {
    let mut bench = Bench::new(Mode::Full);
    let http = bench.ask(&pxe(discover(MAC), "HTTPClient:Arch:00016:UNDI:003001", 16)).answer.unwrap().packet;
    assert_eq!(http.options.get(options::VENDOR_CLASS), Some(b"HTTPClient".as_slice()));
    assert_eq!(
        http.options.get(options::BOOT_FILE),
        Some(b"http://10.0.0.1:8080/boot/uki/x86_64.efi".as_slice())
    );
    assert_eq!(http.options.get(options::MACHINE_IDENTIFIER), Some([0; 17].as_slice()));
    let mut ipxe = pxe(discover(MAC), "PXEClient:Arch:00000:UNDI:002001", 0);
    ipxe.options.set(options::USER_CLASS, "iPXE");
    let answer = bench.ask(&ipxe).answer.unwrap().packet;
    assert_eq!(answer.file, "http://10.0.0.1:8080/boot/script/52-54-00-00-00-01.ipxe");
    assert_eq!(answer.options.get(options::IPXE), Some([176, 1, 1, 255].as_slice()));
    let outcome = bench.ask(&pxe(discover(MAC), "PXEClient:Arch:00000:UNDI:002001", 0));
    assert!(outcome.warning.is_some_and(|text| text.contains("undionly.kpxe")));
    let bios = outcome.answer.unwrap().packet;
    assert_eq!(
        (bios.file.as_str(), bios.yours.is_unspecified()),
        ("", false),
        "an address, but nothing to boot"
    );
}
