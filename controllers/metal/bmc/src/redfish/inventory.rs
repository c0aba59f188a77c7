//! The identity of a machine, as a service reports it.

use serde_json::Value;

use super::links::{link, text};
use super::service::Service;
use super::vendor::Quirks;
use crate::{Error, Identity, Result};

/// Returns the identity in the system resource.
pub fn identity(system: &Value, quirks: &Quirks) -> Identity {
    let sku = text(system, "/SKU");
    let serial = if quirks.serial_is_sku && !sku.is_empty() { sku } else { text(system, "/SerialNumber") };
    Identity {
        manufacturer: text(system, "/Manufacturer"),
        model: text(system, "/Model"),
        serial,
        uuid: text(system, "/UUID").to_lowercase(),
        macs: Vec::new(),
    }
}

/// Returns the MAC address of an interface: the permanent one if it is valid, otherwise the current one.
pub fn mac(interface: &Value) -> Option<String> {
    let wanted = |name: &str| {
        let text = interface[name].as_str()?.to_lowercase().replace('-', ":");
        let bytes =
            text.split(':').filter(|byte| byte.len() == 2 && byte.bytes().all(|b| b.is_ascii_hexdigit()));
        (text.len() == 17 && bytes.count() == 6 && text != "00:00:00:00:00:00").then_some(text)
    };
    wanted("PermanentMACAddress").or_else(|| wanted("MACAddress"))
}

/// Reads the identity of the machine, with the MAC addresses of its interfaces.
pub(super) async fn read(service: &Service) -> Result<Identity> {
    let system = service.system().await?;
    let mut identity = identity(&system.body, service.quirks(&system).await?);
    if let Some(collection) = link(&system.body, "/EthernetInterfaces") {
        let interfaces = match service.members(&collection).await {
            Err(Error::Status { status: 404 | 501, .. }) => Vec::new(),
            interfaces => interfaces?,
        };
        for mac in interfaces.iter().filter_map(|interface| mac(&interface.body)) {
            if !identity.macs.contains(&mac) {
                identity.macs.push(mac);
            }
        }
    }
    Ok(identity)
}
