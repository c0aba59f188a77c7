//! Boot scripts for iPXE.

use std::fmt::Write;

use agent_protocol::dhcp::MacAddress;
use metal_boot::client::Processor;
use metal_boot::machine::Boot;

/// The server's data that a script contains.
pub struct Server<'a> {
    /// `http://ADDRESS:PORT`, as the machine reaches it.
    pub http: &'a str,
    /// `https://ADDRESS:PORT`, for the agent.
    pub https: Option<&'a str>,
    /// Whether there are a kernel and an initial file system for the machine; otherwise the unified image is booted.
    pub has_kernel: bool,
    /// Arguments of the kernel.
    pub arguments: &'a str,
    /// The one-time token for the agent's enrolment.
    pub token: Option<&'a str>,
}

/// Returns the boot script for a machine.
pub fn script(mac: MacAddress, processor: Processor, boot: &Boot, server: &Server<'_>) -> String {
    let mut text = String::from("#!ipxe\n");
    let http = server.http;
    let lines = match boot {
        // On `exit 1` UEFI continues with its next boot device; after a success it shows its menu. BIOS often does nothing more, so the
        // disk is booted.
        Boot::Disk => {
            "iseq ${platform} efi && goto firmware ||\nsanboot --no-describe --drive 0x80 ||\n:firmware\nexit 1\n".into()
        }
        Boot::Image(url) => format!("sanboot --no-describe {url} || exit 1\n"),
        Boot::Agent if server.has_kernel => {
            let name = processor.name();
            let mut arguments = format!("initrd=initrd BOOTIF=01-{}", mac.dashed());
            if let Some(https) = server.https {
                let _ = write!(arguments, " firstlight.server={https}");
            }
            if let Some(token) = server.token {
                let _ = write!(arguments, " firstlight.token={token}");
            }
            let arguments = format!("{arguments} {}", server.arguments);
            again(&format!(
                "kernel {http}/boot/kernel/{name} {} || goto again\ninitrd --name initrd {http}/boot/initrd/{name} || goto again\n",
                arguments.trim_end()
            ))
        }
        Boot::Agent => again(&format!("kernel {http}/boot/uki/{}.efi || goto again\n", processor.name())),
    };
    text.push_str(&lines);
    text
}

/// Retries the script until it succeeds: the server may be starting, or may be busy with many machines.
fn again(load: &str) -> String {
    format!(
        ":load\nimgfree\n{load}boot || goto again\n:again\necho firstlight: trying again in 5 s\nsleep 5\ngoto load\n"
    )
}
