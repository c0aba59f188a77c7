//! Tests of `offer`.

use metal_boot::client::Architecture;
use std::net::IpAddr;

use agent_protocol::dhcp::MacAddress;
use metal_boot::client::{Processor, Program};
use metal_boot::machine::Boot;
use metal_boot::offer::{NO_BOOT_FILE, Offer};

fn offer(tftp: &[&str]) -> Offer {
    Offer {
        server: IpAddr::from([10, 0, 0, 1]),
        http_port: 8080,
        unified: [Processor::X86_64].into(),
        tftp: tftp.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn each_program_gets_what_it_can_boot() {
    use Architecture::{Bios, Other, Uefi, UefiHttp};
    use Processor::{Aarch64, X86_64};
    let (none, both) = (offer(&[]), offer(&["undionly.kpxe", "ipxe.efi"]));
    let url = "http://10.0.0.1:8080/boot/uki/x86_64.efi";
    let script = "http://10.0.0.1:8080/boot/script/52-54-00-00-00-01.ipxe";
    let image = Boot::Image("http://site/live.iso".into());
    let cases = [
        (&both, Program::Firmware(Bios), &Boot::Agent, Some("undionly.kpxe")),
        (&none, Program::Firmware(Bios), &Boot::Agent, None),
        (&none, Program::Firmware(Bios), &Boot::Disk, Some(NO_BOOT_FILE)),
        (&both, Program::Firmware(Uefi(X86_64)), &Boot::Agent, Some("ipxe.efi")),
        (&none, Program::Firmware(Uefi(X86_64)), &Boot::Agent, Some("uki/x86_64.efi")),
        (&none, Program::Firmware(Uefi(Aarch64)), &Boot::Agent, None),
        (&both, Program::Firmware(Uefi(X86_64)), &Boot::Disk, Some(NO_BOOT_FILE)),
        (&none, Program::Firmware(Uefi(X86_64)), &image, None),
        (&both, Program::Firmware(UefiHttp(X86_64)), &Boot::Agent, Some(url)),
        (&both, Program::Firmware(UefiHttp(X86_64)), &image, Some("http://site/live.iso")),
        (
            &both,
            Program::Firmware(UefiHttp(X86_64)),
            &Boot::Disk,
            Some("http://10.0.0.1:8080/boot/start-from-disk"),
        ),
        (&none, Program::Ipxe(Bios), &Boot::Disk, Some(script)),
        (&none, Program::Ipxe(Uefi(X86_64)), &Boot::Agent, Some(script)),
        (&both, Program::Firmware(Other(33)), &Boot::Agent, None),
        (&both, Program::System, &Boot::Agent, None),
    ];
    for (offer, program, boot, expected) in cases {
        let mac = MacAddress([0x52, 0x54, 0, 0, 0, 1]);
        assert_eq!(offer.file(program, mac, boot).as_deref(), expected, "{program:?} {boot:?}");
    }
}
