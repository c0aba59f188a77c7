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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_arguments() {
        let mac = Some([0x52, 0x54, 0, 0xab, 2, 3]);
        let line = "console=ttyS0 firstlight.server=https://10.0.0.1:1 BOOTIF=01-52-54-00-ab-02-03 quiet firstlight.server=https://[fd00::1]:1 firstlight.token=abc\n";
        let read = Arguments::read(line);
        assert_eq!(read.servers, ["https://10.0.0.1:1", "https://[fd00::1]:1"]);
        assert_eq!((read.token.as_deref(), read.boot), (Some("abc"), mac));
        assert_eq!(Arguments::read("BOOTIF=52:54:00:ab:02:03").boot, mac);
        assert_eq!(Arguments::read("BOOTIF=01:52:54:00:ab:02:03").boot, mac);
        let wrong = "BOOTIF=eth0 x=\"y z\" = firstlight.network=52:54:00:ab:02:03 firstlight.network=52:54:00:ab:02:03,10.0.0.9/33,";
        assert_eq!(Arguments::read(wrong), Arguments::default());
        let line = "firstlight.network=52:54:00:ab:02:03,10.0.0.9/24,10.0.0.1,10.0.0.53,10.0.0.54 firstlight.network=52:54:00:ab:02:04,10.1.0.9/32,";
        let [first, second] = Arguments::read(line).networks.try_into().unwrap();
        assert_eq!(
            (Some(first.mac), first.lease.address.to_string(), first.lease.prefix),
            (mac, "10.0.0.9".into(), 24)
        );
        assert_eq!((first.lease.router, first.lease.name_servers.len()), (Some([10, 0, 0, 1].into()), 2));
        assert_eq!(
            (second.lease.prefix, second.lease.router, second.lease.name_servers),
            (32, None, Vec::new())
        );
    }
}
