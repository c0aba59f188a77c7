//! Tests of firmware changes: before a machine is available, and while it is in use.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeMap;

use bmc::TaskState;
use bmc::{BootDevice, Power};
use metal::control::Command;
use metal::names;
use schemas::metal3::FirmwareUpdate;

use crate::metal_hosts::support::{World, image};

fn settings() -> BTreeMap<String, String> {
    [("Cores".to_owned(), "4".to_owned())].into()
}

fn update(component: &str) -> FirmwareUpdate {
    FirmwareUpdate { component: component.into(), url: format!("http://images/{component}") }
}

fn is_changing(world: &World) -> bool {
    world.host.metadata.annotations.iter().flatten().any(|(key, _)| key == names::FIRMWARE)
}

#[test]
fn settings_come_into_force_before_a_host_is_available() {
    let mut world = World::new();
    world.host.spec.image = None;
    world.firmware.settings = settings();
    world.until_state("available");
    let expected = [Command::Set(settings()), Command::Boot(BootDevice::Network), Command::Reset];
    assert!(world.commands.windows(3).any(|commands| commands == expected), "{:?}", world.commands);
    assert!(!is_changing(&world));
    assert!(world.events.contains(&"FirmwareSettingsChanged"));

    // Settings that are added later cause another preparation.
    world.firmware.settings = settings();
    world.until(|world| world.state() == "preparing");
    world.until_state("available");
    assert!(world.firmware.settings.is_empty());
}

#[test]
fn nothing_is_written_to_a_host_whose_settings_nobody_has_compared() {
    let mut world = World::new();
    world.firmware.is_unread = true;
    world.until(|world| world.state() == "preparing");
    (0..10).for_each(|_| drop(world.step()));
    assert_eq!((world.state().as_str(), world.status().error_count), ("preparing", 0));
    world.firmware.is_unread = false;
    world.until_state("provisioned");

    let mut world = World::new();
    world.firmware.problem = Some("GET /redfish/v1/Systems/1/Bios: 500".into());
    world.until(|world| world.status().error_count == 2);
    assert_eq!(world.status().error_type.as_deref(), Some("preparation error"));
    assert!(world.status().error_message.contains("Bios"));
    world.firmware.problem = None;
    world.until_state("provisioned");
}

#[test]
fn a_setting_that_the_firmware_does_not_take_is_an_error_and_tried_again_later() {
    let mut world = World::new();
    world.firmware.settings = settings();
    world.stubborn = Some("Cores");
    world.until(|world| world.status().error_count == 2);
    assert_eq!(world.status().error_type.as_deref(), Some("preparation error"));
    assert!(world.status().error_message.contains("Cores"), "{}", world.status().error_message);
    let resets = world.commands.iter().filter(|command| **command == Command::Reset).count();
    assert_eq!(resets, 2, "once for each attempt");
    world.stubborn = None;
    world.until_state("provisioned");
}

#[test]
fn updates_are_installed_one_after_the_other() {
    let mut world = World::new();
    world.host.spec.image = None;
    world.firmware.updates = vec![update("bmc"), update("bios")];
    world.until(|world| world.firmware.task.is_some());
    (0..5).for_each(|_| drop(world.step()));
    assert_eq!(world.firmware.updates.len(), 2, "it is waited for");
    assert!(!world.commands.contains(&Command::Reset), "nobody cuts the power of a machine that is updated");
    world.firmware.task = Some(Ok(TaskState::Done));
    world.until(|world| world.firmware.updates.len() == 1 && world.firmware.task.is_some());

    let waiting = TaskState::Running { percent: None, message: "Scheduled".into() };
    world.firmware.task = Some(Ok(waiting));
    (0..5).for_each(|_| drop(world.step()));
    let resets = world.commands.iter().filter(|command| **command == Command::Reset).count();
    assert_eq!(resets, 1, "a task that waits for a start gets one");
    world.firmware.task = Some(Ok(TaskState::Done));
    world.until_state("available");
    assert!(world.firmware.updates.is_empty() && !is_changing(&world));
}

#[test]
fn an_update_that_fails_or_does_not_end_is_an_error() {
    let mut world = World::new();
    world.firmware.updates = vec![update("bios")];
    world.until(|world| world.firmware.task.is_some());
    world.firmware.task = Some(Ok(TaskState::Failed { message: "the image is not signed".into() }));
    world.until(|world| world.status().error_type.is_some());
    assert!(
        world.status().error_message.contains("bios") && world.status().error_message.contains("not signed")
    );
    // The next attempt never ends.
    (0..150).for_each(|_| drop(world.step()));
    world.until(|world| world.status().error_count == 2);
    assert!(world.status().error_message.contains("60 minutes"), "{}", world.status().error_message);
}

#[test]
fn a_machine_in_use_is_changed_when_it_is_restarted_where_that_is_allowed() {
    let mut world = World::new();
    world.until_state("provisioned");
    let before = world.commands.len();
    world.firmware.settings = settings();
    world.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    world.until(|world| world.power == Power::Off);
    world.until(|world| world.power == Power::On);
    assert_eq!(world.commands[before..], [Command::HardOff, Command::PowerOn], "nobody allowed it");

    world.firmware.sets_on_reboot = true;
    (0..5).for_each(|_| drop(world.step()));
    let before = world.commands.len();
    world.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    world.until(|world| world.status().operational_status == "servicing");
    assert_eq!(world.commands[before..], [Command::HardOff, Command::Set(settings()), Command::Reset]);
    world.until(|world| world.status().operational_status == "OK" && !is_changing(world));
    assert_eq!((world.state().as_str(), world.power), ("provisioned", Power::On));
    assert!(world.status().error_type.is_none());
}

#[test]
fn nobody_cuts_the_power_of_a_machine_whose_firmware_is_installed_to_delete_its_host() {
    let mut world = World::new();
    world.host.spec.image = None;
    world.firmware.updates = vec![update("bios")];
    world.until(|world| world.firmware.task.is_some());
    let before = world.commands.len();
    world.delete();
    (0..10).for_each(|_| drop(world.step()));
    assert_eq!(world.state(), "preparing", "it waits");
    assert_eq!(world.commands[before..], [], "its power is left as it is");
    world.firmware.task = Some(Ok(TaskState::Done));
    world.until(|world| world.is_gone);
    assert_eq!((world.power, world.commands.last()), (Power::Off, Some(&Command::HardOff)));

    // A BMC whose update never ends is waited for only as long as an update may take.
    let mut world = World::new();
    world.firmware.updates = vec![update("bios")];
    world.until(|world| world.firmware.task.is_some());
    world.delete();
    let begun = world.now;
    (0..100).for_each(|_| drop(world.step()));
    world.until(|world| world.is_gone);
    assert!(world.now - begun >= chrono::Duration::hours(1), "{}", world.now - begun);

    // A task that waits for a start of the machine does not count as a running update.
    let mut world = World::new();
    world.firmware.updates = vec![update("bios")];
    world.until(|world| world.firmware.task.is_some());
    let waiting = TaskState::Running { percent: None, message: "Scheduled".into() };
    world.firmware.task = Some(Ok(waiting));
    world.delete();
    let begun = world.now;
    world.until(|world| world.is_gone);
    assert!(world.now - begun < chrono::Duration::minutes(10), "{}", world.now - begun);
}

#[test]
fn another_image_waits_until_the_firmware_of_a_machine_in_use_is_installed() {
    let mut world = World::new();
    world.until_state("provisioned");
    world.firmware.updates = vec![update("bios")];
    world.firmware.installs_on_reboot = true;
    world.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    world.until(|world| world.firmware.task.is_some());
    let before = world.commands.len();
    world.host.spec.image = Some(image("http://images/b.raw"));
    (0..10).for_each(|_| drop(world.step()));
    assert_eq!((world.state().as_str(), &world.commands[before..]), ("provisioned", [].as_slice()));
    world.firmware.task = Some(Ok(TaskState::Done));
    world.until(|world| world.disk.as_deref() == Some("http://images/b.raw"));
}
