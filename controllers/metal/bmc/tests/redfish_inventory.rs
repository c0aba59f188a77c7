//! Tests of `redfish::inventory`.

use bmc::Identity;
use bmc::redfish::inventory::{identity, mac};
use bmc::redfish::vendor::{DELL, STANDARD};
use serde_json::json;

#[test]
fn identities() {
    let system = json!({"Manufacturer": "Dell Inc. ", "Model": "R640", "SerialNumber": "CN123", "SKU": "ABC12", "UUID": "4C4C4544-0001"});
    let serial = |vendor| identity(&system, vendor).serial;
    assert_eq!((serial(&DELL).as_str(), serial(&STANDARD).as_str()), ("ABC12", "CN123"));
    assert_eq!(identity(&system, &DELL).manufacturer, "Dell Inc.");
    assert_eq!(identity(&system, &DELL).uuid, "4c4c4544-0001");
    assert_eq!(identity(&json!({"SKU": 1, "UUID": null}), &DELL), Identity::default());
}

#[test]
fn macs() {
    for (interface, expected) in [
        (json!({"MACAddress": "52:54:00:AA:BB:CC"}), Some("52:54:00:aa:bb:cc")),
        (
            json!({"MACAddress": "02:00:00:00:00:01", "PermanentMACAddress": "52-54-00-AA-BB-CC"}),
            Some("52:54:00:aa:bb:cc"),
        ),
        (json!({"MACAddress": "02:00:00:00:00:01", "PermanentMACAddress": ""}), Some("02:00:00:00:00:01")),
        (json!({"MACAddress": "00:00:00:00:00:00"}), None),
        (json!({"MACAddress": "80:00:02:08:fe:80:00:00"}), None),
        (json!({"MACAddress": null}), None),
    ] {
        assert_eq!(mac(&interface).as_deref(), expected, "{interface}");
    }
}
