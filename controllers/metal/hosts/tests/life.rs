//! Tests of complete life cycles of hosts, with the plan only.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use agent_protocol::Erase;
use bmc::{BootDevice, Power};

use crate::metal_hosts::support::{World, image};
use metal::control::{Command, Fault};
use metal::host::observed::Means;
use metal::names;

#[test]
fn a_host_is_inspected_provisioned_deprovisioned_and_deleted() {
    let mut world = World::new();
    world.until_state("provisioned");
    let expected = ["registering", "inspecting", "preparing", "available", "provisioning", "provisioned"];
    assert_eq!(world.states, expected);
    assert_eq!(world.disk.as_deref(), Some("http://images/a.raw"));
    assert_eq!(world.boot, BootDevice::Disk, "the disk comes first from now on");
    assert_eq!(
        world.commands,
        [Command::Boot(BootDevice::Network), Command::PowerOn, Command::Boot(BootDevice::Disk)],
        "one start does all"
    );
    let status = world.status();
    assert_eq!(status.provisioning.image.map(|image| image.url).as_deref(), Some("http://images/a.raw"));
    assert_eq!((status.error_count, status.operational_status.as_str()), (0, "OK"));
    assert!(status.hardware.is_some() && status.powered_on);
    let history = status.operation_history.unwrap_or_default();
    for operation in [history.register, history.inspect, history.provision] {
        let operation = operation.unwrap_or_default();
        assert!(operation.start.is_some() && operation.end >= operation.start, "{operation:?}");
    }

    world.host.spec.image = Some(image("http://images/b.raw"));
    world.until(|world| {
        world.disk.as_deref() == Some("http://images/b.raw") && world.state() == "provisioned"
    });
    assert!(
        world
            .states
            .ends_with(&["deprovisioning", "available", "provisioning", "provisioned"].map(String::from))
    );

    world.delete();
    world.until(|world| world.is_gone);
    assert!(
        world
            .states
            .ends_with(&["deprovisioning", "powering off before delete", "deleting"].map(String::from))
    );
    assert_eq!((world.power, world.disk), (Power::Off, None), "nothing is left on the disk");
}

#[test]
fn all_of_the_disks_is_erased_at_the_end_where_the_host_asks_for_it() {
    for (asked, expected) in
        [(None, Erase::Metadata), (Some("everything"), Erase::Everything), (Some("x"), Erase::Metadata)]
    {
        let mut world = World::new();
        world.until_state("provisioned");
        world.erased = None;
        if let Some(asked) = asked {
            let annotations = world.host.metadata.annotations.get_or_insert_default();
            annotations.insert(names::ERASE.to_owned(), asked.to_owned());
        }
        world.delete();
        world.until(|world| world.is_gone);
        assert_eq!(world.erased, Some(expected), "{asked:?}");
        assert!(world.events.contains(&"DisksErased"), "{:?}", world.events);
    }
}

#[test]
fn a_host_that_cannot_be_cleaned_goes_after_four_attempts_and_its_machine_is_off() {
    let mut world = World::new();
    world.until_state("provisioned");
    world.delete();
    world.failing = Some(("clean/", 9));
    world.until(|world| world.is_gone);
    assert_eq!(world.power, Power::Off);
    assert!(world.disk.is_some(), "it was given up");
    assert!(world.events.contains(&"DeprovisioningError"), "{:?}", world.events);
}

#[test]
fn an_image_that_cannot_be_written_is_tried_again_from_the_beginning() {
    let mut world = World::new();
    world.failing = Some(("deploy/", 1));
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.status().error_type.as_deref(), Some("provisioning error"));
    assert_eq!(world.status().error_message, "it did not work");
    world.until_state("provisioned");
    assert!(world.states.contains(&"deprovisioning".to_owned()), "{:?}", world.states);
    assert_eq!(world.status().error_count, 0);
}

#[test]
fn a_machine_whose_agent_does_not_come_is_started_again() {
    let mut world = World::new();
    world.is_deaf = true;
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.status().error_type.as_deref(), Some("inspection error"));
    assert!(world.status().error_message.contains("52:54:00:00:00:01"), "{}", world.status().error_message);
    world.is_deaf = false;
    world.until_state("provisioned");
    assert_eq!(world.commands.iter().filter(|command| **command == Command::HardOff).count(), 1);
}

#[test]
fn a_bmc_that_refuses_is_a_registration_error_until_it_does_not() {
    let mut world = World::new();
    world.fault = Some(Fault { message: "GET /redfish/v1/Systems: 401".into(), is_refused: true });
    world.until(|world| world.status().error_count == 3);
    assert_eq!(world.status().error_type.as_deref(), Some("registration error"));
    assert!(world.status().good_credentials.is_none());
    world.fault = None;
    world.until_state("provisioned");
    assert!(world.status().good_credentials.is_some());
}

#[test]
fn a_bmc_that_does_not_answer_yet_is_asked_again_within_seconds() {
    let mut world = World::new();
    let message = "GET /redfish/v1/ at https://192.0.2.7: connection refused";
    world.fault = Some(Fault { message: message.into(), is_refused: false });
    world.until(|world| world.status().error_count == 1);
    let mut waits = vec![world.step().after.unwrap_or_default().as_secs()];
    waits.extend((0..8).map(|_| world.step().after.unwrap_or_default().as_secs()));
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 900, 900]);
    assert_eq!(world.status().error_message, message);
    world.fault = None;
    world.until_state("provisioned");
    assert_eq!(world.status().error_count, 0);
}

#[test]
fn power_follows_online_and_reboot_annotations() {
    let mut world = World::new();
    world.until_state("provisioned");
    world.host.spec.online = false;
    world.until(|world| world.power == Power::Off);
    assert_eq!(world.commands.last(), Some(&Command::SoftOff));
    world.host.spec.online = true;
    world.until(|world| world.power == Power::On && world.status().powered_on);

    world.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    world.until(|world| world.power == Power::Off);
    assert_eq!(world.commands.last(), Some(&Command::HardOff));
    world.until(|world| world.power == Power::On);
    assert!(world.host.metadata.annotations.iter().flatten().all(|(key, _)| key != "reboot.metal3.io"));

    world.annotate("reboot.metal3.io/fence", "");
    world.until(|world| world.power == Power::Off);
    (0..5).for_each(|_| drop(world.step()));
    assert_eq!(world.power, Power::Off, "off until the key is removed");
    world.host.metadata.annotations.get_or_insert_default().remove("reboot.metal3.io/fence");
    world.until(|world| world.power == Power::On);
    assert_eq!(world.state(), "provisioned");
}

#[test]
fn without_a_bmc_nobody_does_anything_unless_asked() {
    let mut world = World::new();
    world.means = Means::None;
    world.until_state("unmanaged");
    assert_eq!(world.status().operational_status, "discovered");
    assert!(world.commands.is_empty());
    world.delete();
    world.until(|world| world.is_gone);
}

#[test]
fn a_person_is_asked_to_switch_a_machine_on() {
    let mut world = World::new();
    world.means = Means::Manual;
    world.until(|world| {
        world.state() == "inspecting"
            && world.status().conditions.iter().any(|known| known.type_ == names::WAITING_FOR_OPERATOR)
    });
    let asked =
        world.status().conditions.into_iter().find(|known| known.type_ == names::WAITING_FOR_OPERATOR);
    assert!(asked.is_some_and(|asked| asked.status == "True" && asked.message.contains("host-0")));
    world.until_state("provisioned");
    let asked =
        world.status().conditions.into_iter().find(|known| known.type_ == names::WAITING_FOR_OPERATOR);
    assert!(asked.is_some_and(|asked| asked.status == "False"));
}

#[test]
fn a_machine_is_woken_once() {
    let mut world = World::new();
    world.means = Means::WakeOnLan;
    world.annotate(names::POWERED, "off");
    world.until_state("provisioned");
    let woken = world.commands.iter().filter(|command| **command == Command::PowerOn).count();
    assert_eq!(woken, 1, "{:?}", world.commands);
    let known = world.host.metadata.annotations.clone().unwrap_or_default();
    assert_eq!(known.get(names::POWERED).map(String::as_str), Some("on"));
}

#[test]
fn paused_and_detached_hosts_are_left_alone() {
    let mut world = World::new();
    world.until_state("provisioned");
    let before = world.commands.len();
    world.annotate(names::DETACHED, "");
    world.host.spec.online = false;
    (0..5).for_each(|_| drop(world.step()));
    assert_eq!((world.status().operational_status.as_str(), world.commands.len()), ("detached", before));
    world.annotate(names::PAUSED, "");
    world.delete();
    let host = world.host.clone();
    world.step();
    assert_eq!(world.host, host, "not even deleted");
    world.host.metadata.annotations.get_or_insert_default().remove(names::PAUSED);
    world.until(|world| world.is_gone);
    assert_eq!(world.commands.len(), before, "a detached machine is neither cleaned nor switched off");
}

#[test]
fn a_host_from_another_management_cluster_keeps_its_status() {
    let mut provisioned = World::new();
    provisioned.until_state("provisioned");
    let status = serde_json::to_string(&provisioned.status()).expect("JSON");
    let mut world = World::new();
    world.power = Power::On;
    world.annotate(names::STATUS, &status);
    world.annotate(names::PAUSED, "metal3.io/capm3");
    let before = world.host.clone();
    world.step();
    assert_eq!(world.host, before, "not even an empty status");
    world.host.metadata.annotations.get_or_insert_default().remove(names::PAUSED);
    world.step();
    let annotated =
        |world: &World| world.host.metadata.annotations.iter().flatten().any(|(key, _)| key == names::STATUS);
    assert!(world.state() == "provisioned" && annotated(&world), "the annotation goes once that is written");
    (0..10).for_each(|_| drop(world.step()));
    assert_eq!(world.state(), "provisioned");
    assert!(world.commands.is_empty(), "{:?}", world.commands);
    assert!(world.host.metadata.annotations.iter().flatten().all(|(key, _)| key != names::STATUS));
}

#[test]
fn a_bmc_that_does_not_switch_on_is_found_out() {
    let mut world = World::new();
    world.is_dead = true;
    world.until(|world| world.status().error_message.contains("its BMC says that it is off"));
    assert_eq!(world.status().error_type.as_deref(), Some("power management error"));
    world.is_dead = false;
    world.until_state("provisioned");
}
