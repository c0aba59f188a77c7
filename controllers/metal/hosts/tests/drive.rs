//! Tests of when a DataImage's image is inserted into a machine's drive.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use bmc::Power;
use metal::control::{Command, Fault};
use metal::host::observed::Drive;
use schemas::metal3::DataImage;

use crate::metal_hosts::support::Fixture;

const FIRST: &str = "http://images/first.iso";
const SECOND: &str = "http://images/second.iso";

fn wants(fixture: &mut Fixture, url: &str) {
    let drive = fixture.drive.get_or_insert(Drive { image: DataImage::default(), held: Ok(None) });
    drive.image.spec.url = url.to_owned();
}

fn attached(fixture: &Fixture) -> Option<String> {
    let status = fixture.drive.as_ref()?.image.status.clone()?;
    Some(status.attached_image?.url)
}

/// Returns the commands of a restart of the machine.
fn restart(fixture: &mut Fixture) -> Vec<Command> {
    let before = fixture.commands.len();
    fixture.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    fixture.until(|fixture| fixture.power == Power::Off);
    fixture.until(|fixture| fixture.power == Power::On);
    fixture.commands.split_off(before)
}

#[test]
fn an_image_changes_when_a_machine_in_use_is_switched_on() {
    let mut fixture = Fixture::new();
    wants(&mut fixture, FIRST);
    fixture.until_state("provisioned");
    (0..5).for_each(|_| drop(fixture.step()));
    assert!(
        !fixture.commands.contains(&Command::Insert(FIRST.into())),
        "nothing happens to a running system"
    );

    let done = restart(&mut fixture);
    assert_eq!(done, [Command::HardOff, Command::Insert(FIRST.into()), Command::PowerOn]);
    assert_eq!(attached(&fixture).as_deref(), Some(FIRST));
    assert_eq!(restart(&mut fixture), [Command::HardOff, Command::PowerOn], "it is there already");

    wants(&mut fixture, SECOND);
    assert_eq!(restart(&mut fixture)[1], Command::Insert(SECOND.into()));
    wants(&mut fixture, "");
    assert_eq!(restart(&mut fixture)[1], Command::Eject);
    assert_eq!(attached(&fixture), None);

    wants(&mut fixture, FIRST);
    restart(&mut fixture);
    let drive = fixture.drive.as_mut().expect("a drive");
    drive.image.metadata.deletion_timestamp = Some(engine::time::time(fixture.now));
    assert_eq!(restart(&mut fixture)[1], Command::Eject, "an image that is deleted comes out");
}

#[test]
fn a_bmc_that_forgets_the_image_gets_it_again_and_one_that_does_not_tell_is_believed() {
    let mut fixture = Fixture::new();
    wants(&mut fixture, FIRST);
    fixture.until_state("provisioned");
    restart(&mut fixture);
    fixture.drive.as_mut().expect("a drive").held = Ok(None);
    assert_eq!(restart(&mut fixture)[1], Command::Insert(FIRST.into()));
    fixture.drive.as_mut().expect("a drive").held = Ok(Some(String::new()));
    assert_eq!(restart(&mut fixture), [Command::HardOff, Command::PowerOn]);
}

#[test]
fn a_drive_that_cannot_be_read_keeps_the_machine_off_and_says_why() {
    let mut fixture = Fixture::new();
    wants(&mut fixture, FIRST);
    fixture.until_state("provisioned");
    let fault = Fault { message: "GET /redfish/v1/Managers/1/VirtualMedia: 500".into(), is_refused: false };
    fixture.drive.as_mut().expect("a drive").held = Err(fault.clone());
    fixture.annotate("reboot.metal3.io", "");
    fixture.until(|fixture| fixture.status().error_count == 2);
    assert_eq!(fixture.power, Power::Off);
    assert_eq!(fixture.status().error_type.as_deref(), Some("power management error"));
    let error = fixture.drive.as_ref().and_then(|drive| drive.image.status.clone()?.error).expect("an error");
    assert_eq!((error.count, error.message), (2, fault.message));
    fixture.drive.as_mut().expect("a drive").held = Ok(None);
    fixture.until(|fixture| fixture.power == Power::On && fixture.status().error_type.is_none());
    let status = fixture.drive.as_ref().and_then(|drive| drive.image.status.clone()).expect("a status");
    assert_eq!(status.error, None);
}

#[test]
fn what_was_in_the_drive_goes_with_the_system_that_it_was_for() {
    let mut fixture = Fixture::new();
    wants(&mut fixture, FIRST);
    fixture.until_state("provisioned");
    restart(&mut fixture);
    fixture.host.spec.image = None;
    fixture.until_state("available");
    assert!(fixture.commands.contains(&Command::Eject));
    assert_eq!(attached(&fixture), None);
}
