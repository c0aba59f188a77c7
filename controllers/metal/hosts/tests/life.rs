//! Tests of complete life cycles of hosts, with the plan only.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use agent_protocol::Erase;
use bmc::{BootDevice, Power};

use crate::metal_hosts::support::{Fixture, image};
use metal::control::{Command, Fault};
use metal::host::observed::Means;
use metal::names;

#[test]
fn a_host_is_inspected_provisioned_deprovisioned_and_deleted() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    let expected = ["registering", "inspecting", "preparing", "available", "provisioning", "provisioned"];
    assert_eq!(fixture.states, expected);
    assert_eq!(fixture.disk.as_deref(), Some("http://images/a.raw"));
    assert_eq!(fixture.boot, BootDevice::Disk, "the disk comes first from now on");
    assert_eq!(
        fixture.commands,
        [Command::Boot(BootDevice::Network), Command::PowerOn, Command::Boot(BootDevice::Disk)],
        "one start does all"
    );
    let status = fixture.status();
    assert_eq!(status.provisioning.image.map(|image| image.url).as_deref(), Some("http://images/a.raw"));
    assert_eq!((status.error_count, status.operational_status.as_str()), (0, "OK"));
    assert!(status.hardware.is_some() && status.powered_on);
    let history = status.operation_history.unwrap_or_default();
    for operation in [history.register, history.inspect, history.provision] {
        let operation = operation.unwrap_or_default();
        assert!(operation.start.is_some() && operation.end >= operation.start, "{operation:?}");
    }

    fixture.host.spec.image = Some(image("http://images/b.raw"));
    fixture.until(|fixture| {
        fixture.disk.as_deref() == Some("http://images/b.raw") && fixture.state() == "provisioned"
    });
    assert!(
        fixture
            .states
            .ends_with(&["deprovisioning", "available", "provisioning", "provisioned"].map(String::from))
    );

    fixture.delete();
    fixture.until(|fixture| fixture.is_gone);
    assert!(
        fixture
            .states
            .ends_with(&["deprovisioning", "powering off before delete", "deleting"].map(String::from))
    );
    assert_eq!((fixture.power, fixture.disk), (Power::Off, None), "nothing is left on the disk");
}

#[test]
fn all_of_the_disks_is_erased_at_the_end_where_the_host_asks_for_it() {
    for (asked, expected) in
        [(None, Erase::Metadata), (Some("everything"), Erase::Everything), (Some("x"), Erase::Metadata)]
    {
        let mut fixture = Fixture::new();
        fixture.until_state("provisioned");
        fixture.erased = None;
        if let Some(asked) = asked {
            let annotations = fixture.host.metadata.annotations.get_or_insert_default();
            annotations.insert(names::ERASE.to_owned(), asked.to_owned());
        }
        fixture.delete();
        fixture.until(|fixture| fixture.is_gone);
        assert_eq!(fixture.erased, Some(expected), "{asked:?}");
        assert!(fixture.events.contains(&"DisksErased"), "{:?}", fixture.events);
    }
}

#[test]
fn a_host_that_cannot_be_cleaned_goes_after_four_attempts_and_its_machine_is_off() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    fixture.delete();
    fixture.failing = Some(("clean/", 9));
    fixture.until(|fixture| fixture.is_gone);
    assert_eq!(fixture.power, Power::Off);
    assert!(fixture.disk.is_some(), "it was given up");
    assert!(fixture.events.contains(&"DeprovisioningError"), "{:?}", fixture.events);
}

#[test]
fn an_image_that_cannot_be_written_is_tried_again_from_the_beginning() {
    let mut fixture = Fixture::new();
    fixture.failing = Some(("deploy/", 1));
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert_eq!(fixture.status().error_type.as_deref(), Some("provisioning error"));
    assert_eq!(fixture.status().error_message, "it did not work");
    fixture.until_state("provisioned");
    assert!(fixture.states.contains(&"deprovisioning".to_owned()), "{:?}", fixture.states);
    assert_eq!(fixture.status().error_count, 0);
}

#[test]
fn a_machine_whose_agent_does_not_come_is_started_again() {
    let mut fixture = Fixture::new();
    fixture.is_deaf = true;
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert_eq!(fixture.status().error_type.as_deref(), Some("inspection error"));
    assert!(
        fixture.status().error_message.contains("52:54:00:00:00:01"),
        "{}",
        fixture.status().error_message
    );
    fixture.is_deaf = false;
    fixture.until_state("provisioned");
    assert_eq!(fixture.commands.iter().filter(|command| **command == Command::HardOff).count(), 1);
}

#[test]
fn a_bmc_that_refuses_is_a_registration_error_until_it_does_not() {
    let mut fixture = Fixture::new();
    fixture.fault = Some(Fault { message: "GET /redfish/v1/Systems: 401".into(), is_refused: true });
    fixture.until(|fixture| fixture.status().error_count == 3);
    assert_eq!(fixture.status().error_type.as_deref(), Some("registration error"));
    assert!(fixture.status().good_credentials.is_none());
    fixture.fault = None;
    fixture.until_state("provisioned");
    assert!(fixture.status().good_credentials.is_some());
}

#[test]
fn a_bmc_that_does_not_answer_yet_is_asked_again_within_seconds() {
    let mut fixture = Fixture::new();
    let message = "GET /redfish/v1/ at https://192.0.2.7: connection refused";
    fixture.fault = Some(Fault { message: message.into(), is_refused: false });
    fixture.until(|fixture| fixture.status().error_count == 1);
    let mut waits = vec![fixture.step().after.unwrap_or_default().as_secs()];
    waits.extend((0..8).map(|_| fixture.step().after.unwrap_or_default().as_secs()));
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 900, 900]);
    assert_eq!(fixture.status().error_message, message);
    fixture.fault = None;
    fixture.until_state("provisioned");
    assert_eq!(fixture.status().error_count, 0);
}

#[test]
fn power_follows_online_and_reboot_annotations() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    fixture.host.spec.online = false;
    fixture.until(|fixture| fixture.power == Power::Off);
    assert_eq!(fixture.commands.last(), Some(&Command::SoftOff));
    fixture.host.spec.online = true;
    fixture.until(|fixture| fixture.power == Power::On && fixture.status().powered_on);

    fixture.annotate("reboot.metal3.io", r#"{"mode":"hard"}"#);
    fixture.until(|fixture| fixture.power == Power::Off);
    assert_eq!(fixture.commands.last(), Some(&Command::HardOff));
    fixture.until(|fixture| fixture.power == Power::On);
    assert!(fixture.host.metadata.annotations.iter().flatten().all(|(key, _)| key != "reboot.metal3.io"));

    fixture.annotate("reboot.metal3.io/fence", "");
    fixture.until(|fixture| fixture.power == Power::Off);
    (0..5).for_each(|_| drop(fixture.step()));
    assert_eq!(fixture.power, Power::Off, "off until the key is removed");
    fixture.host.metadata.annotations.get_or_insert_default().remove("reboot.metal3.io/fence");
    fixture.until(|fixture| fixture.power == Power::On);
    assert_eq!(fixture.state(), "provisioned");
}

#[test]
fn without_a_bmc_nobody_does_anything_unless_asked() {
    let mut fixture = Fixture::new();
    fixture.means = Means::None;
    fixture.until_state("unmanaged");
    assert_eq!(fixture.status().operational_status, "discovered");
    assert!(fixture.commands.is_empty());
    fixture.delete();
    fixture.until(|fixture| fixture.is_gone);
}

#[test]
fn a_person_is_asked_to_switch_a_machine_on() {
    let mut fixture = Fixture::new();
    fixture.means = Means::Manual;
    fixture.until(|fixture| {
        fixture.state() == "inspecting"
            && fixture.status().conditions.iter().any(|known| known.type_ == names::WAITING_FOR_OPERATOR)
    });
    let asked =
        fixture.status().conditions.into_iter().find(|known| known.type_ == names::WAITING_FOR_OPERATOR);
    assert!(asked.is_some_and(|asked| asked.status == "True" && asked.message.contains("host-0")));
    fixture.until_state("provisioned");
    let asked =
        fixture.status().conditions.into_iter().find(|known| known.type_ == names::WAITING_FOR_OPERATOR);
    assert!(asked.is_some_and(|asked| asked.status == "False"));
}

#[test]
fn a_machine_is_woken_once() {
    let mut fixture = Fixture::new();
    fixture.means = Means::WakeOnLan;
    fixture.annotate(names::POWERED, "off");
    fixture.until_state("provisioned");
    let woken = fixture.commands.iter().filter(|command| **command == Command::PowerOn).count();
    assert_eq!(woken, 1, "{:?}", fixture.commands);
    let known = fixture.host.metadata.annotations.clone().unwrap_or_default();
    assert_eq!(known.get(names::POWERED).map(String::as_str), Some("on"));
}

#[test]
fn paused_and_detached_hosts_are_left_alone() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    let before = fixture.commands.len();
    fixture.annotate(names::DETACHED, "");
    fixture.host.spec.online = false;
    (0..5).for_each(|_| drop(fixture.step()));
    assert_eq!((fixture.status().operational_status.as_str(), fixture.commands.len()), ("detached", before));
    fixture.annotate(names::PAUSED, "");
    fixture.delete();
    let host = fixture.host.clone();
    fixture.step();
    assert_eq!(fixture.host, host, "not even deleted");
    fixture.host.metadata.annotations.get_or_insert_default().remove(names::PAUSED);
    fixture.until(|fixture| fixture.is_gone);
    assert_eq!(fixture.commands.len(), before, "a detached machine is neither cleaned nor switched off");
}

#[test]
fn a_host_from_another_management_cluster_keeps_its_status() {
    let mut provisioned = Fixture::new();
    provisioned.until_state("provisioned");
    let status = serde_json::to_string(&provisioned.status()).expect("JSON");
    let mut fixture = Fixture::new();
    fixture.power = Power::On;
    fixture.annotate(names::STATUS, &status);
    fixture.annotate(names::PAUSED, "metal3.io/capm3");
    let before = fixture.host.clone();
    fixture.step();
    assert_eq!(fixture.host, before, "not even an empty status");
    fixture.host.metadata.annotations.get_or_insert_default().remove(names::PAUSED);
    fixture.step();
    let annotated = |fixture: &Fixture| {
        fixture.host.metadata.annotations.iter().flatten().any(|(key, _)| key == names::STATUS)
    };
    assert!(
        fixture.state() == "provisioned" && annotated(&fixture),
        "the annotation goes once that is written"
    );
    (0..10).for_each(|_| drop(fixture.step()));
    assert_eq!(fixture.state(), "provisioned");
    assert!(fixture.commands.is_empty(), "{:?}", fixture.commands);
    assert!(fixture.host.metadata.annotations.iter().flatten().all(|(key, _)| key != names::STATUS));
}

#[test]
fn a_bmc_that_does_not_switch_on_is_found_out() {
    let mut fixture = Fixture::new();
    fixture.is_dead = true;
    fixture.until(|fixture| fixture.status().error_message.contains("its BMC says that it is off"));
    assert_eq!(fixture.status().error_type.as_deref(), Some("power management error"));
    fixture.is_dead = false;
    fixture.until_state("provisioned");
}
