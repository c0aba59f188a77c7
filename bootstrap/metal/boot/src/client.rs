//! Recognises which program sends a packet, and for which kind of machine.

use agent_protocol::dhcp::{MacAddress, Packet, options};

/// Instruction sets for which boot files exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Processor {
    /// x86-64; also 32-bit firmware of such machines.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Processor {
    /// Returns the name that `uname -m` and Metal3 use.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The reverse of [`Processor::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::X86_64, Self::Aarch64].into_iter().find(|processor| processor.name() == name)
    }
}

/// How a machine's firmware loads a boot file: the numbers of IANA for option 93 (RFC 4578) that this server has boot files for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// BIOS: a program of the PXE interface.
    Bios,
    /// UEFI: a program over TFTP.
    Uefi(Processor),
    /// UEFI: a program over HTTP.
    UefiHttp(Processor),
    /// A Raspberry Pi's boot loader.
    RaspberryPi,
    /// A number for which this server has no boot file.
    Other(u16),
}

impl Architecture {
    /// Returns the meaning of a number of option 93. It follows what vendors send, not only the list: 6, 7 and 9 are all seen for
    /// x86-64.
    pub fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Bios,
            6 | 7 | 9 => Self::Uefi(Processor::X86_64),
            10 | 11 => Self::Uefi(Processor::Aarch64),
            15 | 16 => Self::UefiHttp(Processor::X86_64),
            18 | 19 => Self::UefiHttp(Processor::Aarch64),
            41 => Self::RaspberryPi,
            other => Self::Other(other),
        }
    }

    /// Returns the instruction set of the kernel for this architecture.
    pub fn processor(self) -> Option<Processor> {
        match self {
            Self::Bios => Some(Processor::X86_64),
            Self::Uefi(processor) | Self::UefiHttp(processor) => Some(processor),
            Self::RaspberryPi => Some(Processor::Aarch64),
            Self::Other(_) => None,
        }
    }

    /// Returns the name that `DHCPLease` objects use.
    pub fn name(self) -> String {
        match self {
            Self::Bios => "bios".into(),
            Self::Uefi(processor) => format!("uefi-{}", processor.name()),
            Self::UefiHttp(processor) => format!("uefi-http-{}", processor.name()),
            Self::RaspberryPi => "raspberry-pi".into(),
            Self::Other(number) => format!("unknown-{number}"),
        }
    }
}

/// The kind of program that sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Firmware that boots over the network.
    Firmware(Architecture),
    /// iPXE, however it was loaded.
    Ipxe(Architecture),
    /// Anything else: the agent, an installed system.
    System,
}

/// MAC address prefixes of Raspberry Pi Ltd. and the Raspberry Pi Foundation.
const RASPBERRY_PI: [[u8; 3]; 7] = [
    [0xb8, 0x27, 0xeb],
    [0xdc, 0xa6, 0x32],
    [0xe4, 0x5f, 0x01],
    [0xd8, 0x3a, 0xdd],
    [0x28, 0xcd, 0xc1],
    [0x2c, 0xcf, 0x67],
    [0x88, 0xa2, 0x9e],
];

impl Program {
    /// Recognises the program that sent `packet`.
    pub fn of(packet: &Packet) -> Self {
        let class = packet.options.get(options::VENDOR_CLASS).unwrap_or_default();
        let pxe = class.starts_with(b"PXEClient");
        let http = class.starts_with(b"HTTPClient");
        let said = packet.options.get(options::ARCHITECTURE).and_then(|value| value.first_chunk::<2>());
        let number = match said {
            Some(number) => Some(u16::from_be_bytes(*number)),
            None => class_architecture(class),
        };
        let architecture = architecture(packet.mac, number, http);
        if is_ipxe(packet.options.get(options::USER_CLASS).unwrap_or_default()) {
            Self::Ipxe(architecture)
        } else if pxe || http {
            Self::Firmware(architecture)
        } else {
            Self::System
        }
    }

    /// Returns the machine's architecture; `None` for [`Program::System`].
    pub fn architecture(self) -> Option<Architecture> {
        match self {
            Self::Firmware(architecture) | Self::Ipxe(architecture) => Some(architecture),
            Self::System => None,
        }
    }

    /// Returns whether the program asks for a boot file.
    pub fn boots(self) -> bool {
        self != Self::System
    }
}

fn architecture(mac: MacAddress, number: Option<u16>, http: bool) -> Architecture {
    let [a, b, c, ..] = mac.0;
    let found = number.map_or(Architecture::Bios, Architecture::from_number);
    match found {
        // The boot loader of a Raspberry Pi identifies itself as a BIOS.
        Architecture::Bios if RASPBERRY_PI.contains(&[a, b, c]) => Architecture::RaspberryPi,
        // Some firmware sends the number of its PXE client when it boots over HTTP.
        Architecture::Uefi(processor) if http => Architecture::UefiHttp(processor),
        found => found,
    }
}

/// Returns whether the user class is `iPXE`, or a list that contains it (RFC 3004).
fn is_ipxe(class: &[u8]) -> bool {
    class == b"iPXE" || class.windows(5).any(|part| part == b"\x04iPXE")
}

/// Returns the number in `PXEClient:Arch:00007:…`.
fn class_architecture(class: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(class).ok()?;
    let (_, after) = text.split_once(":Arch:")?;
    after.split(':').next()?.parse().ok()
}
