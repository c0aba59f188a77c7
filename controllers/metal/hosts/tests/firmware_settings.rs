//! Tests of `firmware::settings`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use chrono::DateTime;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use metal::firmware::comparison::{CHANGE_DETECTED, VALID};
use metal::firmware::rules::{schema_name, values};
use metal::firmware::settings::{Found, compared};
use schemas::metal3::HostFirmwareSettings;

fn machine() -> Found {
    let registry = bmc::SettingLimits {
        kind: bmc::SettingType::Enumeration,
        allowed: vec!["Bios".into(), "Uefi".into()],
        lower: None,
        upper: None,
        min_length: None,
        max_length: None,
        read_only: false,
        unique: false,
    };
    let cores = bmc::SettingLimits {
        kind: bmc::SettingType::Integer,
        lower: Some(1),
        upper: Some(64),
        ..registry.clone()
    };
    let asset =
        bmc::SettingLimits { kind: bmc::SettingType::String, max_length: Some(4), ..registry.clone() };
    let serial = bmc::SettingLimits { read_only: true, ..asset.clone() };
    let quiet = bmc::SettingLimits { kind: bmc::SettingType::Boolean, ..registry.clone() };
    Found::Known(values(&bmc::Settings {
        current: [
            ("BootMode", bmc::Setting::Text("Uefi".into())),
            ("Cores", bmc::Setting::Number(8)),
            ("Quiet", bmc::Setting::Switch(false)),
            ("AssetTag", bmc::Setting::Text("a".into())),
            ("Serial", bmc::Setting::Text("s".into())),
            ("SetupPassword", bmc::Setting::Text("secret".into())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
        pending: BTreeMap::new(),
        limits: [
            ("BootMode", registry),
            ("Cores", cores),
            ("Quiet", quiet),
            ("AssetTag", asset),
            ("Serial", serial),
        ]
        .map(|(name, limits)| (name.to_owned(), limits))
        .into(),
    }))
}

fn look(settings: &[(&str, IntOrString)], found: &Found) -> HostFirmwareSettings {
    let mut object = HostFirmwareSettings::default();
    object.metadata.generation = Some(7);
    object.spec.settings = settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    compared(&object, found, None, DateTime::default())
}

/// Returns the status of ChangeDetected and of Valid, and the message of Valid.
fn said(object: &HostFirmwareSettings) -> (String, String, String) {
    let conditions = &object.status.as_ref().unwrap().conditions;
    let find =
        |name: &str| conditions.iter().find(|condition| condition.type_ == name).cloned().unwrap_or_default();
    (find(CHANGE_DETECTED).status, find(VALID).status, find(VALID).message)
}

fn text(text: &str) -> IntOrString {
    IntOrString::String(text.to_owned())
}

#[test]
fn what_is_wanted_is_compared_with_what_the_machine_allows() {
    let cases = [
        (vec![], "False", "True", ""),
        (vec![("BootMode", text("Uefi")), ("Cores", IntOrString::Int(8))], "False", "True", ""),
        (vec![("Cores", IntOrString::Int(4))], "True", "True", ""),
        (vec![("Cores", text("65"))], "True", "False", "Cores must be at most 64, not 65"),
        (vec![("Cores", text("many"))], "True", "False", "Cores must be a whole number, not \"many\""),
        (
            vec![("BootMode", text("Fast"))],
            "True",
            "False",
            "BootMode must be one of Bios, Uefi, not \"Fast\"",
        ),
        (vec![("Quiet", text("true"))], "True", "True", ""),
        (vec![("Quiet", text("loud"))], "True", "False", "Quiet must be true or false, not \"loud\""),
        (
            vec![("AssetTag", text("12345"))],
            "True",
            "False",
            "AssetTag must have at most 4 characters, not 5",
        ),
        (vec![("Serial", text("x"))], "True", "False", "Serial is read-only"),
        (
            vec![("Colour", text("red"))],
            "True",
            "False",
            "Colour: the machine has no such setting: status.settings has their names",
        ),
        (
            vec![("SetupPassword", text("x"))],
            "True",
            "False",
            "SetupPassword: passwords of the firmware can't be set here",
        ),
    ];
    for (settings, change, valid, message) in cases {
        let object = look(&settings, &machine());
        assert_eq!(said(&object), (change.into(), valid.into(), message.into()), "{settings:?}");
        let status = object.status.unwrap();
        assert_eq!(status.settings["Cores"], "8");
        assert!(!status.settings.contains_key("SetupPassword"));
        assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(7)));
    }
}

#[test]
fn a_bmc_without_settings_is_no_error_unless_something_is_wanted() {
    let none = Found::Unsupported("no Bios resource".into());
    assert_eq!(said(&look(&[], &none)), ("False".into(), "True".into(), String::new()));
    let asked = look(&[("Cores", text("4"))], &none);
    assert_eq!(said(&asked), ("True".into(), "False".into(), "no Bios resource".into()));
    let silent = look(&[("Cores", text("4"))], &Found::Unreadable("no answer".into()));
    assert_eq!(said(&silent).0, "Unknown");
}

#[test]
fn machines_of_a_model_share_a_schema() {
    let Found::Known((_, schema)) = machine() else { panic!("settings") };
    let name = schema_name(&schema);
    assert!(name.len() == 15 && name.starts_with("schema-"), "{name}");
    assert_eq!(name, schema_name(&schema.clone()));
    assert_ne!(name, schema_name(&schema.into_iter().skip(1).collect()));
}
