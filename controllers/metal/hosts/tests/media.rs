//! Tests of machines that boot their agent from virtual media.

use agent_protocol::Erase;
use bmc::{BootDevice, Power};
use metal::control::Command;
use metal::host::observed::{BootImage, Means};
use metal::names;
use schemas::meta::ObjectReference;

use crate::metal_hosts::support::Fixture;

const URL: &str = "http://10.0.0.1/boot/media/metal/host-0/1234.iso";

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.means =
        Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media: true };
    fixture
}

#[test]
fn the_agent_is_inserted_started_and_ejected() {
    let mut fixture = fixture();
    fixture.until(|fixture| fixture.state() == "inspecting");
    let asked = (0..5).map(|_| fixture.step().asks_boot_image).collect::<Vec<_>>();
    assert!(asked.iter().all(|asked| *asked), "{asked:?}");
    assert!(fixture.commands.is_empty(), "nothing is done before there is an image: {:?}", fixture.commands);

    fixture.boot_image = BootImage::Ready(URL.into());
    fixture.until_state("provisioned");
    let expected = [
        Command::Insert(URL.into()),
        Command::Boot(BootDevice::VirtualMedia),
        Command::PowerOn,
        Command::Eject,
        Command::Boot(BootDevice::Disk),
    ];
    assert_eq!(fixture.commands, expected);

    fixture.commands.clear();
    fixture.delete();
    fixture.until(|fixture| fixture.is_gone);
    let expected = [
        Command::HardOff,
        Command::Insert(URL.into()),
        Command::Boot(BootDevice::VirtualMedia),
        Command::PowerOn,
        Command::Eject,
        Command::HardOff,
    ];
    assert_eq!((fixture.commands.as_slice(), fixture.power, fixture.disk), (&expected[..], Power::Off, None));
}

#[test]
fn what_stands_against_it_is_said() {
    let mut fixture = fixture();
    fixture.boot_image = BootImage::Failed("add a stub".into());
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert_eq!(fixture.status().error_type.as_deref(), Some("inspection error"));
    assert!(fixture.status().error_message.contains("add a stub"), "{}", fixture.status().error_message);

    fixture.boot_image = BootImage::Ready(URL.into());
    fixture.host.spec.boot_mode = Some("legacy".into());
    fixture.until(|fixture| fixture.status().error_message.contains("bootMode"));
    assert!(fixture.commands.is_empty(), "{:?}", fixture.commands);

    fixture.host.spec.boot_mode = None;
    fixture.is_deaf = true;
    fixture.until(|fixture| fixture.status().error_message.contains("from virtual media"));
    fixture.is_deaf = false;
    fixture.until_state("provisioned");
}

/// Returns a host with a live image that an object of this kind uses, and a disk with somebody's data.
fn live(consumer: &str, boots_media: bool) -> Fixture {
    let mut fixture = fixture();
    fixture.means =
        Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media };
    fixture.boot_image = BootImage::Ready(URL.into());
    fixture.host.spec.consumer_ref =
        Some(ObjectReference { kind: Some(consumer.to_owned()), ..ObjectReference::default() });
    if let Some(image) = &mut fixture.host.spec.image {
        image.format = Some("live-iso".into());
    }
    fixture.disk = Some("somebody's data".into());
    fixture
}

#[test]
fn disks_are_cleaned_before_and_after_the_live_image_of_a_claim() {
    for boots_media in [true, false] {
        let mut fixture = live("HostClaim", boots_media);
        fixture.until_state("provisioned");
        assert_eq!((fixture.disk.take(), fixture.erased.take()), (None, Some(Erase::Metadata)), "before");
        let started = [
            Command::Insert("http://images/a.raw".into()),
            Command::Boot(BootDevice::VirtualMedia),
            Command::PowerOn,
        ];
        assert!(fixture.commands.ends_with(&started), "{:?}", fixture.commands);

        fixture.disk = Some("what the live system has written".into());
        fixture.annotate(names::ERASE, "everything");
        fixture.host.spec.image = None;
        fixture.until_state("available");
        assert_eq!((fixture.disk.take(), fixture.erased), (None, Some(Erase::Everything)), "after");
        assert_eq!(fixture.commands.last(), Some(&Command::Eject), "its image does not stay in the drive");
    }
}

#[test]
fn a_host_whose_cleaning_for_a_live_image_fails_does_not_start_it() {
    let mut fixture = live("HostClaim", false);
    fixture.failing = Some(("clean/", 1));
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert_eq!(fixture.status().error_message, "it did not work");
    assert!(!fixture.commands.contains(&Command::Boot(BootDevice::VirtualMedia)), "{:?}", fixture.commands);
    fixture.until_state("provisioned");
    assert_eq!(fixture.disk, None);
}

#[test]
fn disks_of_other_hosts_with_a_live_image_are_left_as_they_are() {
    let mut fixture = live("Metal3Machine", false);
    fixture.until_state("provisioned");
    fixture.host.spec.image = None;
    fixture.until_state("available");
    assert_eq!((fixture.disk.is_some(), fixture.erased), (true, None));
}
