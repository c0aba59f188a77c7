//! Tests of machines that boot their agent from virtual media.

use agent_protocol::Erase;
use bmc::{BootDevice, Power};
use metal::control::Command;
use metal::host::observed::{BootImage, Means};
use metal::names;
use schemas::meta::ObjectReference;

use crate::metal_hosts::support::World;

const URL: &str = "http://10.0.0.1/boot/media/metal/host-0/1234.iso";

fn world() -> World {
    let mut world = World::new();
    world.means =
        Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media: true };
    world
}

#[test]
fn the_agent_is_inserted_started_and_ejected() {
    let mut world = world();
    world.until(|world| world.state() == "inspecting");
    let asked = (0..5).map(|_| world.step().asks_boot_image).collect::<Vec<_>>();
    assert!(asked.iter().all(|asked| *asked), "{asked:?}");
    assert!(world.commands.is_empty(), "nothing is done before there is an image: {:?}", world.commands);

    world.boot_image = BootImage::Ready(URL.into());
    world.until_state("provisioned");
    let expected = [
        Command::Insert(URL.into()),
        Command::Boot(BootDevice::VirtualMedia),
        Command::PowerOn,
        Command::Eject,
        Command::Boot(BootDevice::Disk),
    ];
    assert_eq!(world.commands, expected);

    world.commands.clear();
    world.delete();
    world.until(|world| world.is_gone);
    let expected = [
        Command::HardOff,
        Command::Insert(URL.into()),
        Command::Boot(BootDevice::VirtualMedia),
        Command::PowerOn,
        Command::Eject,
        Command::HardOff,
    ];
    assert_eq!((world.commands.as_slice(), world.power, world.disk), (&expected[..], Power::Off, None));
}

#[test]
fn what_stands_against_it_is_said() {
    let mut world = world();
    world.boot_image = BootImage::Failed("add a stub".into());
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.status().error_type.as_deref(), Some("inspection error"));
    assert!(world.status().error_message.contains("add a stub"), "{}", world.status().error_message);

    world.boot_image = BootImage::Ready(URL.into());
    world.host.spec.boot_mode = Some("legacy".into());
    world.until(|world| world.status().error_message.contains("bootMode"));
    assert!(world.commands.is_empty(), "{:?}", world.commands);

    world.host.spec.boot_mode = None;
    world.is_deaf = true;
    world.until(|world| world.status().error_message.contains("from virtual media"));
    world.is_deaf = false;
    world.until_state("provisioned");
}

/// Returns a host with a live image that an object of this kind uses, and a disk with somebody's data.
fn live(consumer: &str, boots_media: bool) -> World {
    let mut world = world();
    world.means = Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media };
    world.boot_image = BootImage::Ready(URL.into());
    world.host.spec.consumer_ref =
        Some(ObjectReference { kind: Some(consumer.to_owned()), ..ObjectReference::default() });
    if let Some(image) = &mut world.host.spec.image {
        image.format = Some("live-iso".into());
    }
    world.disk = Some("somebody's data".into());
    world
}

#[test]
fn disks_are_cleaned_before_and_after_the_live_image_of_a_claim() {
    for boots_media in [true, false] {
        let mut world = live("HostClaim", boots_media);
        world.until_state("provisioned");
        assert_eq!((world.disk.take(), world.erased.take()), (None, Some(Erase::Metadata)), "before");
        let started = [
            Command::Insert("http://images/a.raw".into()),
            Command::Boot(BootDevice::VirtualMedia),
            Command::PowerOn,
        ];
        assert!(world.commands.ends_with(&started), "{:?}", world.commands);

        world.disk = Some("what the live system has written".into());
        world.annotate(names::ERASE, "everything");
        world.host.spec.image = None;
        world.until_state("available");
        assert_eq!((world.disk.take(), world.erased), (None, Some(Erase::Everything)), "after");
        assert_eq!(world.commands.last(), Some(&Command::Eject), "its image does not stay in the drive");
    }
}

#[test]
fn a_host_whose_cleaning_for_a_live_image_fails_does_not_start_it() {
    let mut world = live("HostClaim", false);
    world.failing = Some(("clean/", 1));
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.status().error_message, "it did not work");
    assert!(!world.commands.contains(&Command::Boot(BootDevice::VirtualMedia)), "{:?}", world.commands);
    world.until_state("provisioned");
    assert_eq!(world.disk, None);
}

#[test]
fn disks_of_other_hosts_with_a_live_image_are_left_as_they_are() {
    let mut world = live("Metal3Machine", false);
    world.until_state("provisioned");
    world.host.spec.image = None;
    world.until_state("available");
    assert_eq!((world.disk.is_some(), world.erased), (true, None));
}
