//! The agent's inputs: the kernel's arguments, its configuration, and the identity of the machine.

use std::path::Path;

use agent_protocol::{CONFIGURATION, Configuration, Enrolment};
use anyhow::{Context, Result, ensure};

use crate::network::{Attached, Fixed, interfaces};

/// The agent's arguments on the kernel command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// `firstlight.server=URL`, in order.
    pub servers: Vec<String>,
    /// `firstlight.token=TOKEN`.
    pub token: Option<String>,
    /// `BOOTIF=01-MAC` or `BOOTIF=MAC`: the interface that the firmware booted from.
    pub boot: Option<[u8; 6]>,
    /// `firstlight.network=MAC,ADDRESS/BITS,ROUTER,NAMESERVER…`, once for each interface that does not use DHCP.
    pub networks: Vec<Fixed>,
}

impl Arguments {
    /// Parses a kernel command line.
    pub fn read(line: &str) -> Self {
        let mut arguments = Self::default();
        for word in line.split_ascii_whitespace() {
            let Some((name, value)) = word.split_once('=') else { continue };
            let value = value.trim_matches('"');
            match name {
                "firstlight.server" => arguments.servers.push(value.to_owned()),
                "firstlight.token" => arguments.token = Some(value.to_owned()),
                "firstlight.network" => arguments.networks.extend(Fixed::read(value)),
                // PXELINUX puts the hardware type (01: Ethernet) before the address.
                "BOOTIF" => arguments.boot = read_boot_interface(value),
                _ => {}
            }
        }
        arguments
    }
}

fn read_boot_interface(value: &str) -> Option<[u8; 6]> {
    crate::network::read_mac(value).or_else(|| {
        crate::network::read_mac(value.strip_prefix("01-").or_else(|| value.strip_prefix("01:"))?)
    })
}

/// Reads the configuration; servers in the kernel's arguments precede those of the file.
///
/// # Errors
/// The file is missing or invalid, or there is no server.
pub fn configuration(arguments: &Arguments) -> Result<Configuration> {
    let bytes = std::fs::read(CONFIGURATION).with_context(|| format!("cannot read {CONFIGURATION}"))?;
    let mut configuration: Configuration = serde_json::from_slice(&bytes)
        .with_context(|| format!("{CONFIGURATION} is not the agent's configuration"))?;
    let mut servers = arguments.servers.clone();
    servers.extend(configuration.servers.drain(..).filter(|server| !arguments.servers.contains(server)));
    ensure!(
        !servers.is_empty(),
        "{CONFIGURATION} and the kernel's arguments name no server (firstlight.server=https://ADDRESS:PORT)"
    );
    configuration.servers = servers;
    Ok(configuration)
}

/// Returns the enrolment of this machine; `by` is the interface that leads to the server.
pub fn enrolment(root: &Path, arguments: &Arguments, by: &Attached) -> Enrolment {
    let read = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Enrolment {
        token: arguments.token.clone(),
        boot_mac_address: by.link.mac_text(),
        mac_addresses: interfaces(&root.join("sys/class/net")).iter().map(|link| link.mac_text()).collect(),
        system_uuid: read("sys/class/dmi/id/product_uuid").map(|uuid| uuid.to_lowercase()),
        serial_number: read("sys/class/dmi/id/product_serial"),
        boot_id: read("proc/sys/kernel/random/boot_id").unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        endorsement: None,
    }
}
