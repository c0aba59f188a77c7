//! Tests of firmware changes: before a machine is available, and while it is in use.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeMap;

use bmc::TaskState;
use bmc::{BootDevice, Power};
use metal::control::Command;
use metal::names;
use schemas::metal3::FirmwareUpdate;

use crate::metal_hosts::support::{Fixture, image};

fn settings() -> BTreeMap<String, String> {
    [("Cores".to_owned(), "4".to_owned())].into()
}

fn update(component: &str) -> FirmwareUpdate {
    FirmwareUpdate { component: component.into(), url: format!("http://images/{component}") }
}

fn is_changing(fixture: &Fixture) -> bool {
    fixture.host.metadata.annotations.iter().flatten().any(|(key, _)| key == names::FIRMWARE)
}

#[test]
fn settings_come_into_force_before_a_host_is_available() {
    let mut fixture = Fixture::new();
    fixture.host.spec.image = None;
    fixture.firmware.settings = settings();
    fixture.until_state("available");
    let expected = [Command::Set(settings()), Command::Boot(BootDevice::Network), Command::Reset];
    assert!(fixture.commands.windows(3).any(|commands| commands == expected), "{:?}", fixture.commands);
    assert!(!is_changing(&fixture));
    assert!(fixture.events.contains(&"FirmwareSettingsChanged"));

    // Settings that are added later cause another preparation.
    fixture.firmware.settings = settings();
    fixture.until(|fixture| fixture.state() == "preparing");
    fixture.until_state("available");
    assert!(fixture.firmware.settings.is_empty());
}

#[test]
fn nothing_is_written_to_a_host_whose_settings_nobody_has_compared() {
    let mut fixture = Fixture::new();
    fixture.firmware.is_unread = true;
    fixture.until(|fixture| fixture.state() == "preparing");
    (0..10).for_each(|_| drop(fixture.step()));
    assert_eq!((fixture.state().as_str(), fixture.status().error_count), ("preparing", 0));
    fixture.firmware.is_unread = false;
    fixture.until_state("provisioned");

    let mut fixture = Fixture::new();
    fixture.firmware.problem = Some("GET /redfish/v1/Systems/1/Bios: 500".into());
    fixture.until(|fixture| fixture.status().error_count == 2);
    assert_eq!(fixture.status().error_type.as_deref(), Some("preparation error"));
    assert!(fixture.status().error_message.contains("Bios"));
    fixture.firmware.problem = None;
    fixture.until_state("provisioned");
}

#[test]
fn a_setting_that_the_firmware_does_not_take_is_an_error_and_tried_again_later() {
    let mut fixture = Fixture::new();
    fixture.firmware.settings = settings();
    fixture.stubborn = Some("Cores");
    fixture.until(|fixture| fixture.status().error_count == 2);
    assert_eq!(fixture.status().error_type.as_deref(), Some("preparation error"));
    assert!(fixture.status().error_message.contains("Cores"), "{}", fixture.status().error_message);
    let resets = fixture.commands.iter().filter(|command| **command == Command::Reset).count();
    assert_eq!(resets, 2, "once for each attempt");
    fixture.stubborn = None;
    fixture.until_state("provisioned");
}

#[test]
fn updates_are_installed_one_after_the_other() {
    let mut fixture = Fixture::new();
    fixture.host.spec.image = None;
    fixture.firmware.updates = vec![update("bmc"), update("bios")];
    fixture.until(|fixture| fixture.firmware.task.is_some());
    (0..5).for_each(|_| drop(fixture.step()));
    assert_eq!(fixture.firmware.updates.len(), 2, "it is waited for");
    assert!(
        !fixture.commands.contains(&Command::Reset),
        "nobody cuts the power of a machine that is updated"
    );
    fixture.firmware.task = Some(Ok(TaskState::Done));
    fixture.until(|fixture| fixture.firmware.updates.len() == 1 && fixture.firmware.task.is_some());

    let waiting = TaskState::Running { percent: None, message: "Scheduled".into() };
    fixture.firmware.task = Some(Ok(waiting));
    (0..5).for_each(|_| drop(fixture.step()));
    let resets = fixture.commands.iter().filter(|command| **command == Command::Reset).count();
    assert_eq!(resets, 1, "a task that waits for a start gets one");
    fixture.firmware.task = Some(Ok(TaskState::Done));
    fixture.until_state("available");
    assert!(fixture.firmware.updates.is_empty() && !is_changing(&fixture));
}

#[test]
fn an_update_that_fails_or_does_not_end_is_an_error() {
    let mut fixture = Fixture::new();
    fixture.firmware.updates = vec![update("bios")];
    fixture.until(|fixture| fixture.firmware.task.is_some());
    fixture.firmware.task = Some(Ok(TaskState::Failed { message: "the image is not signed".into() }));
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert!(
        fixture.status().error_message.contains("bios")
            && fixture.status().error_message.contains("not signed")
    );
    // The next attempt never ends.
    (0..150).for_each(|_| drop(fixture.step()));
    fixture.until(|fixture| fixture.status().error_count == 2);
    assert!(fixture.status().error_message.contains("60 minutes"), "{}", fixture.status().error_message);
}

#[test]
fn a_machine_in_use_is_changed_when_it_is_restarted_where_that_is_allowed() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    let before = fixture.commands.len();
    fixture.firmware.settings = settings();
    fixture.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    fixture.until(|fixture| fixture.power == Power::Off);
    fixture.until(|fixture| fixture.power == Power::On);
    assert_eq!(fixture.commands[before..], [Command::HardOff, Command::PowerOn], "nobody allowed it");

    fixture.firmware.sets_on_reboot = true;
    (0..5).for_each(|_| drop(fixture.step()));
    let before = fixture.commands.len();
    fixture.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    fixture.until(|fixture| fixture.status().operational_status == "servicing");
    assert_eq!(fixture.commands[before..], [Command::HardOff, Command::Set(settings()), Command::Reset]);
    fixture.until(|fixture| fixture.status().operational_status == "OK" && !is_changing(fixture));
    assert_eq!((fixture.state().as_str(), fixture.power), ("provisioned", Power::On));
    assert!(fixture.status().error_type.is_none());
}

#[test]
fn nobody_cuts_the_power_of_a_machine_whose_firmware_is_installed_to_delete_its_host() {
    let mut fixture = Fixture::new();
    fixture.host.spec.image = None;
    fixture.firmware.updates = vec![update("bios")];
    fixture.until(|fixture| fixture.firmware.task.is_some());
    let before = fixture.commands.len();
    fixture.delete();
    (0..10).for_each(|_| drop(fixture.step()));
    assert_eq!(fixture.state(), "preparing", "it waits");
    assert_eq!(fixture.commands[before..], [], "its power is left as it is");
    fixture.firmware.task = Some(Ok(TaskState::Done));
    fixture.until(|fixture| fixture.is_gone);
    assert_eq!((fixture.power, fixture.commands.last()), (Power::Off, Some(&Command::HardOff)));

    // A BMC whose update never ends is waited for only as long as an update may take.
    let mut fixture = Fixture::new();
    fixture.firmware.updates = vec![update("bios")];
    fixture.until(|fixture| fixture.firmware.task.is_some());
    fixture.delete();
    let begun = fixture.now;
    (0..100).for_each(|_| drop(fixture.step()));
    fixture.until(|fixture| fixture.is_gone);
    assert!(fixture.now - begun >= chrono::Duration::hours(1), "{}", fixture.now - begun);

    // A task that waits for a start of the machine does not count as a running update.
    let mut fixture = Fixture::new();
    fixture.firmware.updates = vec![update("bios")];
    fixture.until(|fixture| fixture.firmware.task.is_some());
    let waiting = TaskState::Running { percent: None, message: "Scheduled".into() };
    fixture.firmware.task = Some(Ok(waiting));
    fixture.delete();
    let begun = fixture.now;
    fixture.until(|fixture| fixture.is_gone);
    assert!(fixture.now - begun < chrono::Duration::minutes(10), "{}", fixture.now - begun);
}

#[test]
fn another_image_waits_until_the_firmware_of_a_machine_in_use_is_installed() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    fixture.firmware.updates = vec![update("bios")];
    fixture.firmware.installs_on_reboot = true;
    fixture.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    fixture.until(|fixture| fixture.firmware.task.is_some());
    let before = fixture.commands.len();
    fixture.host.spec.image = Some(image("http://images/b.raw"));
    (0..10).for_each(|_| drop(fixture.step()));
    assert_eq!((fixture.state().as_str(), &fixture.commands[before..]), ("provisioned", [].as_slice()));
    fixture.firmware.task = Some(Ok(TaskState::Done));
    fixture.until(|fixture| fixture.disk.as_deref() == Some("http://images/b.raw"));
}
