//! Tests of when a DataImage's image is inserted into a machine's drive.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use bmc::Power;
use metal::control::{Command, Fault};
use metal::host::observed::Drive;
use schemas::metal3::DataImage;

use crate::metal_hosts::support::World;

const FIRST: &str = "http://images/first.iso";
const SECOND: &str = "http://images/second.iso";

fn wants(world: &mut World, url: &str) {
    let drive = world.drive.get_or_insert(Drive { image: DataImage::default(), held: Ok(None) });
    drive.image.spec.url = url.to_owned();
}

fn attached(world: &World) -> Option<String> {
    let status = world.drive.as_ref()?.image.status.clone()?;
    Some(status.attached_image?.url)
}

/// Returns the commands of a restart of the machine.
fn restart(world: &mut World) -> Vec<Command> {
    let before = world.commands.len();
    world.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    world.until(|world| world.power == Power::Off);
    world.until(|world| world.power == Power::On);
    world.commands.split_off(before)
}

#[test]
fn an_image_changes_when_a_machine_in_use_is_switched_on() {
    let mut world = World::new();
    wants(&mut world, FIRST);
    world.until_state("provisioned");
    (0..5).for_each(|_| drop(world.step()));
    assert!(!world.commands.contains(&Command::Insert(FIRST.into())), "nothing happens to a running system");

    let done = restart(&mut world);
    assert_eq!(done, [Command::HardOff, Command::Insert(FIRST.into()), Command::PowerOn]);
    assert_eq!(attached(&world).as_deref(), Some(FIRST));
    assert_eq!(restart(&mut world), [Command::HardOff, Command::PowerOn], "it is there already");

    wants(&mut world, SECOND);
    assert_eq!(restart(&mut world)[1], Command::Insert(SECOND.into()));
    wants(&mut world, "");
    assert_eq!(restart(&mut world)[1], Command::Eject);
    assert_eq!(attached(&world), None);

    wants(&mut world, FIRST);
    restart(&mut world);
    let drive = world.drive.as_mut().expect("a drive");
    drive.image.metadata.deletion_timestamp = Some(engine::time::time(world.now));
    assert_eq!(restart(&mut world)[1], Command::Eject, "an image that is deleted comes out");
}

#[test]
fn a_bmc_that_forgets_the_image_gets_it_again_and_one_that_does_not_tell_is_believed() {
    let mut world = World::new();
    wants(&mut world, FIRST);
    world.until_state("provisioned");
    restart(&mut world);
    world.drive.as_mut().expect("a drive").held = Ok(None);
    assert_eq!(restart(&mut world)[1], Command::Insert(FIRST.into()));
    world.drive.as_mut().expect("a drive").held = Ok(Some(String::new()));
    assert_eq!(restart(&mut world), [Command::HardOff, Command::PowerOn]);
}

#[test]
fn a_drive_that_cannot_be_read_keeps_the_machine_off_and_says_why() {
    let mut world = World::new();
    wants(&mut world, FIRST);
    world.until_state("provisioned");
    let fault = Fault { message: "GET /redfish/v1/Managers/1/VirtualMedia: 500".into(), is_refused: false };
    world.drive.as_mut().expect("a drive").held = Err(fault.clone());
    world.annotate("reboot.metal3.io", "");
    world.until(|world| world.status().error_count == 2);
    assert_eq!(world.power, Power::Off);
    assert_eq!(world.status().error_type.as_deref(), Some("power management error"));
    let error = world.drive.as_ref().and_then(|drive| drive.image.status.clone()?.error).expect("an error");
    assert_eq!((error.count, error.message), (2, fault.message));
    world.drive.as_mut().expect("a drive").held = Ok(None);
    world.until(|world| world.power == Power::On && world.status().error_type.is_none());
    let status = world.drive.as_ref().and_then(|drive| drive.image.status.clone()).expect("a status");
    assert_eq!(status.error, None);
}

#[test]
fn what_was_in_the_drive_goes_with_the_system_that_it_was_for() {
    let mut world = World::new();
    wants(&mut world, FIRST);
    world.until_state("provisioned");
    restart(&mut world);
    world.host.spec.image = None;
    world.until_state("available");
    assert!(world.commands.contains(&Command::Eject));
    assert_eq!(attached(&world), None);
}
