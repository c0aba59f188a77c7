//! Describes the machine's network interfaces.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use super::addresses::{parts, pci};
use super::files::{Files, text};
use crate::network::interfaces;
use crate::network::lldp::Neighbour;

/// Data about the network that are not in the files.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The IPv4 addresses, with the names of their interfaces.
    pub addresses: Vec<(String, Ipv4Addr)>,
    /// The MAC address of the interface that the machine booted from.
    pub boot: Option<[u8; 6]>,
    /// The switches at the other ends of the cables, by interface index.
    pub neighbours: BTreeMap<u32, Neighbour>,
}

/// Returns `nics` of Metal3's hardware details: an entry for each address, or one entry for an interface without addresses.
pub fn nics(files: &Files, known: &Known) -> Vec<Value> {
    let mut found = Vec::new();
    for link in interfaces(&files.path("sys/class/net")) {
        let folder = files.path("sys/class/net").join(&link.name);
        let read = |path: &str| text(&folder.join(path));
        let model = [read("device/vendor"), read("device/device")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let place = parts(&folder.join("device"));
        let neighbour = known.neighbours.get(&link.index);
        let entry = json!({
            "name": link.name,
            "mac": link.mac_text(),
            "model": (!model.is_empty()).then_some(model),
            // An interface without a link has the speed -1 or none.
            "speedGbps": read("speed").and_then(|megabits| megabits.parse::<u32>().ok()).filter(|m| *m != u32::MAX).map(|m| m / 1000),
            "pciAddress": pci(&place),
            "pxe": known.boot == Some(link.mac),
            "lldp": neighbour.map(|switch| {
                json!({"switchID": switch.switch_id, "portID": switch.port_id, "switchSystemName": switch.system_name})
            }),
            "vlanId": neighbour.and_then(|switch| switch.untagged),
            "vlans": neighbour.and_then(vlans),
        });
        let mut addresses: Vec<IpAddr> = known
            .addresses
            .iter()
            .filter(|(name, _)| *name == link.name)
            .map(|(_, address)| (*address).into())
            .collect();
        addresses.extend(of_version_6(files, &link.name).map(IpAddr::from));
        if addresses.is_empty() {
            found.push(entry.clone());
        }
        for address in addresses {
            let mut entry = entry.clone();
            entry["ip"] = json!(address.to_string());
            found.push(entry);
        }
    }
    found
}

/// Returns the VLANs that a switch announces; `None` if it announces none.
fn vlans(switch: &Neighbour) -> Option<Vec<Value>> {
    let vlans =
        switch.vlans.iter().map(|(id, name)| json!({"id": id, "name": (!name.is_empty()).then_some(name)}));
    (!switch.vlans.is_empty()).then(|| vlans.collect())
}

/// Returns the first IPv6 address of an interface that is not link-local.
fn of_version_6(files: &Files, interface: &str) -> Option<Ipv6Addr> {
    let text = files.text("proc/net/if_inet6")?;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let address = Ipv6Addr::from(u128::from_str_radix(fields.first()?, 16).ok()?);
        (fields.last() == Some(&interface) && !address.is_unicast_link_local()).then_some(address)
    })
}
