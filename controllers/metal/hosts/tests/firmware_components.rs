//! Tests of `firmware::components`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use chrono::DateTime;
use metal::firmware::comparison::{CHANGE_DETECTED, VALID};
use metal::firmware::components::{Found, compared};
use schemas::metal3::{FirmwareUpdate, HostFirmwareComponents};

fn version(version: &str) -> Found {
    Found::Known(vec![bmc::FirmwareComponent { component: "bios".into(), version: version.into() }])
}

fn valid(object: &HostFirmwareComponents) -> (String, String, String) {
    let conditions = &object.status.as_ref().unwrap().conditions;
    let find = |name: &str| conditions.iter().find(|condition| condition.type_ == name).cloned().unwrap();
    (find(CHANGE_DETECTED).status, find(VALID).status, find(VALID).message)
}

#[test]
fn a_version_that_was_installed_from_here_is_told_from_one_that_was_found() {
    let now = DateTime::default();
    let first = compared(&HostFirmwareComponents::default(), &version("1"), now);
    let found = compared(&first, &version("2"), now);
    let entry = &found.status.as_ref().unwrap().components[0];
    assert_eq!((entry.initial_version.as_str(), entry.current_version.as_deref()), ("1", Some("2")));
    assert_eq!(entry.last_version_flashed, None);

    let mut object = found;
    object.spec.updates = vec![FirmwareUpdate { component: "bios".into(), url: "http://a/3".into() }];
    assert_eq!(valid(&compared(&object, &version("2"), now)), ("True".into(), "True".into(), String::new()));
    object.status.get_or_insert_default().updates = object.spec.updates.clone();
    let flashed = compared(&object, &version("3"), now);
    assert_eq!(valid(&flashed).0, "False");
    assert_eq!(flashed.status.unwrap().components[0].last_version_flashed.as_deref(), Some("3"));
}

#[test]
fn what_cannot_be_installed_is_said() {
    let mut object = HostFirmwareComponents::default();
    object.spec.updates = vec![FirmwareUpdate { component: "gpu".into(), url: "http://a".into() }];
    let (change, is_valid, message) = valid(&compared(&object, &version("1"), DateTime::default()));
    assert_eq!((change.as_str(), is_valid.as_str()), ("True", "False"));
    assert!(message.contains("\"gpu\"") && message.contains("nic:"), "{message}");
    object.spec.updates[0].component = "bios".into();
    let none = Found::Unsupported("the host has no BMC".into());
    assert_eq!(valid(&compared(&object, &none, DateTime::default())).2, "the host has no BMC");
}
