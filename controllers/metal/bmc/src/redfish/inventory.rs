//! The identity of a machine, as a service reports it.

use serde_json::Value;

use super::links::{link, text};
use super::service::Redfish;
use super::vendor::Vendor;
use crate::{Error, Identity, Result};

/// Returns the identity in the system resource. Dell's `SerialNumber` is that of the board; the service tag, which the firmware shows
/// as the machine's serial number, is the SKU.
pub fn identity(system: &Value, vendor: Vendor) -> Identity {
    let sku = text(system, "/SKU");
    let serial = if vendor == Vendor::Dell && !sku.is_empty() { sku } else { text(system, "/SerialNumber") };
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

impl Redfish {
    pub(super) async fn read_identity(&self) -> Result<Identity> {
        let system = self.read_system().await?;
        let mut identity = identity(&system.body, self.vendor(&system).await?);
        if let Some(collection) = link(&system.body, "/EthernetInterfaces") {
            let interfaces = match self.read_members(&collection).await {
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
}
