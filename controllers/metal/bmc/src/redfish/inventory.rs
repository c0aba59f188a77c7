//! The identity of a machine, as a service reports it.

use serde_json::Value;

use super::links::{link, text};
use super::service::Redfish;
use super::vendor::Vendor;
use crate::{Error, Identity, Result};

/// Returns the identity in the system resource. Dell's `SerialNumber` is that of the board; the service tag, which the firmware shows
/// as the machine's serial number, is the SKU.
fn identity(system: &Value, vendor: Vendor) -> Identity {
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
fn mac(interface: &Value) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identities() {
        let system = json!({"Manufacturer": "Dell Inc. ", "Model": "R640", "SerialNumber": "CN123", "SKU": "ABC12", "UUID": "4C4C4544-0001"});
        let serial = |vendor| identity(&system, vendor).serial;
        assert_eq!((serial(Vendor::Dell).as_str(), serial(Vendor::Other).as_str()), ("ABC12", "CN123"));
        assert_eq!(identity(&system, Vendor::Dell).manufacturer, "Dell Inc.");
        assert_eq!(identity(&system, Vendor::Dell).uuid, "4c4c4544-0001");
        assert_eq!(identity(&json!({"SKU": 1, "UUID": null}), Vendor::Dell), Identity::default());
    }

    #[test]
    fn macs() {
        for (interface, expected) in [
            (json!({"MACAddress": "52:54:00:AA:BB:CC"}), Some("52:54:00:aa:bb:cc")),
            (
                json!({"MACAddress": "02:00:00:00:00:01", "PermanentMACAddress": "52-54-00-AA-BB-CC"}),
                Some("52:54:00:aa:bb:cc"),
            ),
            (
                json!({"MACAddress": "02:00:00:00:00:01", "PermanentMACAddress": ""}),
                Some("02:00:00:00:00:01"),
            ),
            (json!({"MACAddress": "00:00:00:00:00:00"}), None),
            (json!({"MACAddress": "80:00:02:08:fe:80:00:00"}), None),
            (json!({"MACAddress": null}), None),
        ] {
            assert_eq!(mac(&interface).as_deref(), expected, "{interface}");
        }
    }
}
