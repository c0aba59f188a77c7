//! Tests of `client`.

use crate::metal_boot::discover::discover;
use agent_protocol::dhcp::{MacAddress, options};
use metal_boot::client::Program;
use metal_boot::client::{Architecture, Processor};

#[test]
fn programs_are_told_apart() {
    use Architecture::{Bios, Other, RaspberryPi, Uefi, UefiHttp};
    use Processor::{Aarch64, X86_64};
    let pi = [0xdc, 0xa6, 0x32, 1, 2, 3];
    let any = [0x52, 0x54, 0, 1, 2, 3];
    type Case<'a> = (&'a [u8; 6], &'a str, Option<u16>, &'a [u8], Program);
    let cases: [Case<'_>; 14] = [
        (&any, "PXEClient:Arch:00000:UNDI:002001", Some(0), b"", Program::Firmware(Bios)),
        (&any, "PXEClient:Arch:00007:UNDI:003016", Some(7), b"", Program::Firmware(Uefi(X86_64))),
        (&any, "PXEClient:Arch:00007:UNDI:003016", None, b"", Program::Firmware(Uefi(X86_64))),
        (&any, "PXEClient", Some(9), b"", Program::Firmware(Uefi(X86_64))),
        (&any, "PXEClient", Some(6), b"", Program::Firmware(Uefi(X86_64))),
        (&any, "PXEClient", Some(11), b"", Program::Firmware(Uefi(Aarch64))),
        (&any, "HTTPClient:Arch:00016:UNDI:003001", Some(16), b"", Program::Firmware(UefiHttp(X86_64))),
        (&any, "HTTPClient", Some(7), b"", Program::Firmware(UefiHttp(X86_64))),
        (&any, "HTTPClient", Some(19), b"", Program::Firmware(UefiHttp(Aarch64))),
        (&any, "PXEClient", Some(0), b"iPXE", Program::Ipxe(Bios)),
        (&any, "PXEClient", Some(7), b"\x04iPXE", Program::Ipxe(Uefi(X86_64))),
        (&pi, "PXEClient:Arch:00000:UNDI:002001", Some(0), b"", Program::Firmware(RaspberryPi)),
        (&any, "PXEClient", Some(33), b"", Program::Firmware(Other(33))),
        (&any, "udhcp 1.36", None, b"", Program::System),
    ];
    for (mac, class, number, user, expected) in cases {
        let mut packet = discover(MacAddress(*mac));
        packet.options.set(options::VENDOR_CLASS, class);
        if let Some(number) = number {
            packet.options.set(options::ARCHITECTURE, number.to_be_bytes());
        }
        if !user.is_empty() {
            packet.options.set(options::USER_CLASS, user);
        }
        assert_eq!(Program::of(&packet), expected, "{class} {number:?}");
    }
}
