//! Chooses the boot file for a program that boots over the network.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use agent_protocol::dhcp::{MacAddress, Options, Packet, options};

use crate::client::{Architecture, Processor, Program};
use crate::machine::Boot;

/// The boot file name for a machine that must start from its disk. No such file exists, so the firmware gives up network boot at once.
pub const NO_BOOT_FILE: &str = "start-from-disk";

/// The file names of iPXE's programs, as its makers and distributions name them.
pub const IPXE_BIOS: &str = "undionly.kpxe";
/// iPXE for UEFI: the first choice uses the drivers of the firmware, the second has its own drivers.
pub const IPXE_UEFI: [&str; 2] = ["snponly.efi", "ipxe.efi"];
/// The same for 64-bit ARM as [`IPXE_UEFI`].
pub const IPXE_UEFI_ARM: [&str; 2] = ["snp-arm64.efi", "ipxe-arm64.efi"];
/// The first file that a Raspberry Pi asks for; it ignores the boot file name in the DHCP answer.
const RASPBERRY_PI: &str = "start4.elf";

/// The boot files of this server, and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The server's address in the machine's network.
    pub server: IpAddr,
    /// The port of the HTTP server.
    pub http_port: u16,
    /// The processors with a unified kernel image.
    pub unified: BTreeSet<Processor>,
    /// The names of the other files that TFTP serves.
    pub tftp: BTreeSet<String>,
}

impl Offer {
    /// `http://ADDRESS:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", SocketAddr::new(self.server, self.http_port))
    }

    fn unified_url(&self, processor: Processor) -> Option<String> {
        self.unified.contains(&processor).then(|| format!("{}/boot/{}", self.url(), unified_name(processor)))
    }

    fn first_of(&self, names: &[&str]) -> Option<String> {
        names.iter().find(|name| self.tftp.contains(**name)).map(|name| (*name).to_owned())
    }

    /// Returns the boot file for `program`, or `None` if this server has no file that it could boot.
    pub fn file(&self, program: Program, mac: MacAddress, boot: &Boot) -> Option<String> {
        let architecture = program.architecture()?;
        let nothing = || match architecture {
            Architecture::UefiHttp(_) => format!("{}/boot/{NO_BOOT_FILE}", self.url()),
            _ => NO_BOOT_FILE.to_owned(),
        };
        match (program, architecture, boot) {
            (Program::Ipxe(_), architecture, _) => {
                let script = format!("{}/boot/script/{}.ipxe", self.url(), mac.dashed());
                match architecture.processor() {
                    Some(Processor::Aarch64) => {
                        Some(format!("{script}?processor={}", Processor::Aarch64.name()))
                    }
                    _ => Some(script),
                }
            }
            (_, Architecture::UefiHttp(_), Boot::Image(url)) => Some(url.clone()),
            (_, _, Boot::Disk) => Some(nothing()),
            (_, Architecture::Bios, _) => self.first_of(&[IPXE_BIOS]),
            (_, Architecture::UefiHttp(processor), Boot::Agent) => self.unified_url(processor),
            (_, Architecture::Uefi(processor), boot) => {
                let ipxe = match processor {
                    Processor::X86_64 => self.first_of(&IPXE_UEFI),
                    Processor::Aarch64 => self.first_of(&IPXE_UEFI_ARM),
                };
                let unified = || {
                    let there = *boot == Boot::Agent && self.unified.contains(&processor);
                    there.then(|| unified_name(processor))
                };
                ipxe.or_else(unified)
            }
            (_, Architecture::RaspberryPi, _) => self.first_of(&[RASPBERRY_PI]),
            (_, Architecture::Other(_), _) => None,
        }
    }

    /// Puts into `answer` the options that make `program` load the boot file. Returns `false`, with `answer` unchanged, if there is no
    /// boot file.
    pub fn put(
        &self,
        answer: &mut Packet,
        request: &Packet,
        program: Program,
        boot: &Boot,
        proxy: bool,
    ) -> bool {
        let (Some(file), IpAddr::V4(server)) = (self.file(program, request.mac, boot), self.server) else {
            return false;
        };
        answer.next_server = server;
        answer.server_name = server.to_string();
        answer.options.set(options::TFTP_SERVER, server.to_string());
        answer.options.set(options::BOOT_FILE, file.as_str());
        answer.file = file;
        match program {
            Program::Ipxe(_) if !proxy => {
                // iPXE waits two seconds for a proxy unless it is told that there is none.
                let mut own = Options::default();
                own.set(options::IPXE_NO_PROXY, [1]);
                answer.options.set(options::IPXE, own.encapsulated());
            }
            Program::Firmware(Architecture::UefiHttp(_)) => {
                answer.options.set(options::VENDOR_CLASS, "HTTPClient");
            }
            _ => {
                answer.options.set(options::VENDOR_CLASS, "PXEClient");
                answer.options.set(options::VENDOR_SPECIFIC, pxe_options(program));
            }
        }
        if let Some(identifier) = request.options.get(options::MACHINE_IDENTIFIER) {
            answer.options.set(options::MACHINE_IDENTIFIER, identifier);
        }
        true
    }
}

/// Returns the name of the unified kernel image below `/boot/` and over TFTP.
pub fn unified_name(processor: Processor) -> String {
    format!("uki/{}.efi", processor.name())
}

/// Options for PXE clients: do not look for boot servers, load the named boot file (discovery control, bit 3).
fn pxe_options(program: Program) -> Vec<u8> {
    let mut pxe = Options::default();
    pxe.set(options::PXE_DISCOVERY_CONTROL, [8]);
    if program == Program::Firmware(Architecture::RaspberryPi) {
        // The boot loader looks for this prompt and this menu item, and continues only if it finds them.
        pxe.set(10, b"\0PXE".as_slice());
        pxe.set(9, b"\0\0\x11Raspberry Pi Boot".as_slice());
    }
    pxe.encapsulated()
}
