//! Answers to kinds of machines of which there is no recording, from the bytes of the requests to those of the answers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::{Ipv4Addr, Ipv6Addr};

use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};
use metal_boot::dhcp4::leases::Leases;
use metal_boot::dhcp6;

use crate::metal_boot::server::{SERVER, answer, machine, offer};

/// The bytes of a discover message: header, cookie, options.
fn discover(mac: [u8; 6], given: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 236];
    bytes[..4].copy_from_slice(&[1, 1, 6, 0]);
    bytes[4..8].copy_from_slice(&[1, 2, 3, 4]);
    bytes[28..34].copy_from_slice(&mac);
    bytes.extend([99, 130, 83, 99, 53, 1, 1]);
    for (code, value) in given {
        bytes.push(*code);
        bytes.push(value.len() as u8);
        bytes.extend(*value);
    }
    bytes.push(255);
    bytes
}

fn offered(bytes: &[u8], tftp: &[&str]) -> Packet {
    let answer = answer(&Packet::read(bytes).unwrap(), tftp, &mut Leases::default());
    Packet::read(&answer.packet.write(answer.largest)).unwrap()
}

#[test]
fn arm_and_raspberry_pi() {
    const ANY: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
    const PI: [u8; 6] = [0xdc, 0xa6, 0x32, 1, 2, 3];
    let script = "http://10.77.0.1:8080/boot/script/52-54-00-01-02-03.ipxe?processor=aarch64";
    let (pxe, http) = ("PXEClient:Arch:00011:UNDI:003001", "HTTPClient:Arch:00019:UNDI:003001");
    type Case<'a> = (&'a str, [u8; 6], &'a str, [u8; 2], &'a [u8], &'a [&'a str], &'a str, &'a [u8]);
    let cases: [Case<'_>; 6] = [
        ("UEFI, our image", ANY, pxe, [0, 11], b"", &[], "uki/aarch64.efi", b"PXEClient"),
        ("UEFI, iPXE", ANY, pxe, [0, 11], b"", &["snp-arm64.efi"], "snp-arm64.efi", b"PXEClient"),
        (
            "UEFI over HTTP",
            ANY,
            http,
            [0, 19],
            b"",
            &["snp-arm64.efi"],
            "http://10.77.0.1:8080/boot/uki/aarch64.efi",
            b"HTTPClient",
        ),
        ("iPXE", ANY, pxe, [0, 11], b"iPXE", &["snp-arm64.efi"], script, b""),
        (
            "Raspberry Pi",
            PI,
            "PXEClient:Arch:00000:UNDI:002001",
            [0, 0],
            b"",
            &["start4.elf"],
            "start4.elf",
            b"PXEClient",
        ),
        ("Raspberry Pi with UEFI", PI, pxe, [0, 11], b"", &[], "uki/aarch64.efi", b"PXEClient"),
    ];
    for (name, mac, class, number, user, tftp, file, answered) in cases {
        let mut given: Vec<(u8, &[u8])> = vec![(60, class.as_bytes()), (93, &number), (94, &[1, 3, 1])];
        if !user.is_empty() {
            given.push((77, user));
        }
        let answer = offered(&discover(mac, &given), tftp);
        assert_eq!((answer.kind, answer.file.as_str()), (Kind::Offer, file), "{name}");
        assert_eq!(answer.next_server, SERVER, "{name}");
        assert_eq!(answer.options.get(options::VENDOR_CLASS).unwrap_or_default(), answered, "{name}");
        // The boot loader continues only if it finds its name in the menu.
        let menu = answer.options.get(options::VENDOR_SPECIFIC).unwrap_or_default();
        let is_named = menu.windows(17).any(|part| part == b"Raspberry Pi Boot");
        assert_eq!(is_named, name == "Raspberry Pi", "{name}");
    }
}

#[test]
fn a_machine_without_anything_to_boot_gets_its_address_alone() {
    let class: (u8, &[u8]) = (60, b"PXEClient:Arch:00033:UNDI:003001");
    let answer = offered(&discover([0x52, 0x54, 0, 1, 2, 3], &[class, (93, &[0, 33])]), &["ipxe.efi"]);
    assert_eq!((answer.kind, answer.file.as_str()), (Kind::Offer, ""));
    assert_ne!(answer.yours, Ipv4Addr::UNSPECIFIED);
    assert!(agent_protocol::dhcp::Packet::read(&[0; 10]).is_err());
}

/// The bytes of a DHCPv6 message: type, transaction, options.
fn message(kind: u8, given: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![kind, 1, 2, 3];
    let name: (u16, &[u8]) = (1, &[0, 3, 0, 1, 0x52, 0x54, 0, 1, 2, 3]);
    for (code, value) in std::iter::once(&name).chain(given) {
        bytes.extend(code.to_be_bytes());
        bytes.extend((value.len() as u16).to_be_bytes());
        bytes.extend(*value);
    }
    bytes
}

#[test]
fn firmware_boots_over_version_6() {
    let server: Ipv6Addr = "fd77::1".parse().unwrap();
    let link = dhcp6::plan::Link {
        interface: "br0".into(),
        mac: MacAddress([2; 6]),
        prefix: Some("fd77::".parse().unwrap()),
        known_only: false,
        offer: offer(server.into(), &["snponly.efi"]),
    };
    let association: (u16, &[u8]) = (3, &[0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    let class = |text: &str| {
        let mut value = vec![0, 0, 1, 87, 0, text.len() as u8];
        value.extend(text.as_bytes());
        value
    };
    let (pxe, http) = (class("PXEClient:Arch:00007:UNDI:003001"), class("HTTPClient:Arch:00016:UNDI:003001"));
    let image = |name: &str| Some(format!("http://[fd77::1]:8080/boot/uki/{name}.efi"));
    let script = "http://[fd77::1]:8080/boot/script/52-54-00-01-02-03.ipxe";
    type Case<'a> = (&'a str, &'a [u8], &'a [u8], &'a [u8], Option<String>, bool);
    let cases: [Case<'_>; 8] = [
        ("UEFI", &[0, 7], &pxe, b"", Some("tftp://[fd77::1]/snponly.efi".into()), false),
        (
            "UEFI, several numbers",
            &[0, 7, 0, 6],
            &pxe,
            b"",
            Some("tftp://[fd77::1]/snponly.efi".into()),
            false,
        ),
        ("UEFI for ARM", &[0, 11], &pxe, b"", Some("tftp://[fd77::1]/uki/aarch64.efi".into()), false),
        ("UEFI over HTTP", &[0, 16], &http, b"", image("x86_64"), true),
        ("UEFI over HTTP for ARM", &[0, 19], &http, b"", image("aarch64"), true),
        ("UEFI over HTTP with the number of PXE", &[0, 7], &http, b"", image("x86_64"), true),
        ("iPXE", &[0, 7], &pxe, b"\0\x04iPXE", Some(script.into()), false),
        ("iPXE for ARM", &[0, 11], &pxe, b"\0\x04iPXE", Some(format!("{script}?processor=aarch64")), false),
    ];
    for (name, number, class, user, url, has_class) in cases {
        for (kind, answered) in [(1, dhcp6::packet::Kind::Advertise), (3, dhcp6::packet::Kind::Reply)] {
            let mut given = vec![association, (61, number), (16, class)];
            if !user.is_empty() {
                given.push((15, user));
            }
            let request = dhcp6::packet::Packet::read(&message(kind, &given)).unwrap();
            let mac = dhcp6::plan::machine_of(&request, "fe80::1".parse().unwrap()).unwrap();
            let answer = dhcp6::plan::plan(&request, mac, &machine(), &link).expect("an answer");
            let answer = dhcp6::packet::Packet::read(&answer.write()).unwrap();
            let told = answer.options.get(59).map(|url| String::from_utf8(url.to_vec()).unwrap());
            assert_eq!((answer.kind, &told), (answered, &url), "{name}");
            let class = answer.options.get(16).unwrap_or_default();
            assert_eq!(class.ends_with(b"HTTPClient"), has_class, "{name}");
            let given = answer.options.get(3).unwrap();
            let address: Ipv6Addr = "fd77::5054:ff:fe01:203".parse().unwrap();
            assert_eq!(given[16..32], address.octets(), "{name}");
        }
    }
}
