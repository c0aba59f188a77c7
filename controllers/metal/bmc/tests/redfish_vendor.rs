//! Tests of `redfish::vendor`.

use bmc::redfish::vendor::Vendor;
use serde_json::json;

#[test]
fn vendors() {
    for (root, system, expected) in [
        (json!({"Vendor": "Dell"}), json!({}), Vendor::Dell),
        (json!({"Oem": {"Hpe": {}}}), json!({}), Vendor::Hpe),
        (json!({}), json!({"Manufacturer": "Hewlett Packard Enterprise"}), Vendor::Hpe),
        (json!({}), json!({"Manufacturer": "Dell Inc."}), Vendor::Dell),
        (json!({"Vendor": "Supermicro"}), json!({"Manufacturer": "Supermicro"}), Vendor::Supermicro),
        (json!({"Vendor": null}), json!({"Manufacturer": "Super Micro Computer"}), Vendor::Supermicro),
        (json!({"Vendor": "Contoso", "Oem": []}), json!({"Manufacturer": "Modellbau"}), Vendor::Other),
    ] {
        assert_eq!(Vendor::of(&root, &system), expected, "{root} {system}");
    }
}
