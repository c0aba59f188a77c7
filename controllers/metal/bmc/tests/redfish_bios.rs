//! Tests of `redfish::bios`.

use bmc::Setting;
use bmc::redfish::bios::{attributes, limits};
use serde_json::json;

#[test]
fn plain_values_are_settings() {
    let bios = json!({"Attributes": {"A": "x", "B": 3, "C": true, "D": null, "E": [1], "F": 1.5}});
    let expected =
        [("A", Setting::Text("x".into())), ("B", Setting::Number(3)), ("C", Setting::Switch(true))];
    assert_eq!(attributes(&bios), expected.map(|(name, setting)| (name.to_owned(), setting)).into());
    assert!(attributes(&json!({"Attributes": []})).is_empty());
}

#[test]
fn registries() {
    let registry = json!({"RegistryEntries": {"Attributes": [
        {"AttributeName": "Mode", "Type": "Enumeration", "Value": [{"ValueName": "A"}, {"ValueName": "B"}, 1], "ReadOnly": true},
        {"AttributeName": "Count", "Type": "Integer", "LowerBound": 1, "UpperBound": 9},
        {"AttributeName": "Odd", "Type": "Colour"},
        {"Type": "String"},
    ]}});
    let found = limits(&registry);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["Count", "Mode"]);
    assert_eq!(found["Mode"].allowed, ["A", "B"]);
    assert!(found["Mode"].read_only && !found["Count"].read_only);
    assert_eq!((found["Count"].lower, found["Count"].upper), (Some(1), Some(9)));
}
