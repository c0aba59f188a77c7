//! Tests of `redfish::vendor`.

use bmc::redfish::vendor::{DELL, HPE, Quirks, STANDARD, SUPERMICRO};
use serde_json::json;

#[test]
fn vendors() {
    for (root, system, expected) in [
        (json!({"Vendor": "Dell"}), json!({}), &DELL),
        (json!({"Oem": {"Hpe": {}}}), json!({}), &HPE),
        (json!({}), json!({"Manufacturer": "Hewlett Packard Enterprise"}), &HPE),
        (json!({}), json!({"Manufacturer": "Dell Inc."}), &DELL),
        (json!({"Vendor": "Supermicro"}), json!({"Manufacturer": "Supermicro"}), &SUPERMICRO),
        (json!({"Vendor": null}), json!({"Manufacturer": "Super Micro Computer"}), &SUPERMICRO),
        (json!({"Vendor": "Contoso", "Oem": []}), json!({"Manufacturer": "Modellbau"}), &STANDARD),
    ] {
        assert_eq!(Quirks::of(&root, &system), expected, "{root} {system}");
    }
}
