//! Checks that messages recorded from real clients (OVMF 2022.11, iPXE 1.0.0+git-20190125, the agent) are understood.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};
use metal_boot::client::{Architecture, Processor, Program};
use metal_boot::dhcp4::leases::Leases;
use metal_boot::router;
use metal_boot::tftp::packet::{Message, Options, Request};

use crate::metal_boot::server::answer;

fn recorded(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/recorded/{name}", concat!(env!("CARGO_MANIFEST_DIR"), "/../metal/boot")))
        .unwrap()
}

#[test]
fn machines_are_offered_what_they_can_boot() {
    let uefi = Architecture::Uefi(Processor::X86_64);
    let http = Architecture::UefiHttp(Processor::X86_64);
    let script = |last| format!("http://10.77.0.1:8080/boot/script/52-54-00-00-00-0{last}.ipxe");
    let image = "http://10.77.0.1:8080/boot/uki/x86_64.efi";
    let cases = [
        ("ovmf-http", Program::Firmware(http), image.to_owned()),
        ("ovmf-pxe", Program::Firmware(uefi), "snponly.efi".to_owned()),
        ("ipxe-bios", Program::Ipxe(Architecture::Bios), script(2)),
        ("ipxe-uefi", Program::Ipxe(uefi), script(3)),
        ("agent", Program::System, String::new()),
    ];
    for (client, program, file) in cases {
        let mut leases = Leases::default();
        for (message, expected) in [("discover", Kind::Offer), ("request", Kind::Acknowledge)] {
            let request = Packet::read(&recorded(&format!("{client}-{message}"))).unwrap();
            assert_eq!(Program::of(&request), program, "{client}");
            let answer = answer(&request, &["snponly.efi"], &mut leases);
            assert_eq!(
                (answer.packet.kind, answer.packet.file.as_str()),
                (expected, file.as_str()),
                "{client}"
            );
            let sent = answer.packet.write(answer.largest);
            let read = Packet::read(&sent).unwrap();
            assert_eq!(
                read.options.get(options::MACHINE_IDENTIFIER),
                request.options.get(options::MACHINE_IDENTIFIER)
            );
            assert!(
                read.options.get(options::SUBNET_MASK).is_some(),
                "nothing was left out: {} bytes",
                sent.len()
            );
        }
    }
}

#[test]
fn firmware_asks_for_the_size_and_then_for_the_file() {
    let read = |options| Some(Message::Read(Request { file: "snponly.efi".into(), options }));
    let size = Options { size: true, block: Some(1468), window: Some(4), ..Options::default() };
    assert_eq!(Message::read(&recorded("ovmf-tftp-size")), read(size));
    let content = Options { block: Some(1468), window: Some(4), ..Options::default() };
    assert_eq!(Message::read(&recorded("ovmf-tftp-read")), read(content));
}

#[test]
fn ipxe_looks_for_a_router() {
    let mac = MacAddress([0x52, 0x54, 0, 0, 0, 2]);
    assert_eq!(router::read_solicitation(&recorded("ipxe-router-solicitation")), Some(Some(mac)));
}
