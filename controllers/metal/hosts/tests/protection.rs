//! Checks that nothing is written to the disks of a protected host, in no state.

use agent_protocol::{Action, State};
use metal::host::observed::Means;
use metal::host::plan::Plan;
use metal::names::{self, PROTECT_DISKS};
use schemas::meta::ObjectReference;

use crate::metal_hosts::support::{World, image};

/// Reconciles a few times, and returns whether an instruction wrote to the disks.
fn writes(world: &mut World) -> bool {
    let writes = |plan: Plan| {
        plan.instruction.is_some_and(|told| matches!(told.action, Action::Clean { .. } | Action::Deploy(_)))
    };
    (0..10).filter(|_| writes(world.step())).count() > 0
}

fn protect(world: &mut World) {
    world.annotate(PROTECT_DISKS, "true");
}

fn permit(world: &mut World) {
    world.host.metadata.annotations.get_or_insert_default().remove(PROTECT_DISKS);
}

#[track_caller]
fn assert_held(world: &mut World, state: &str, step: &str) {
    assert!(!writes(world), "{state}");
    let status = world.status();
    assert_eq!((world.state().as_str(), status.error_count), (state, 1), "{}", status.error_message);
    assert_eq!(status.error_type.as_deref(), Some("provisioning error"));
    let remedy = format!("kubectl annotate bmh host-0 {PROTECT_DISKS}-");
    for part in [step, remedy.as_str()] {
        assert!(status.error_message.contains(part), "{part}: {}", status.error_message);
    }
    let ready =
        status.conditions.iter().find(|known| known.type_ == "Ready").map(|known| known.message.as_str());
    assert_eq!(ready, Some(status.error_message.as_str()));
    assert_eq!(world.events.iter().filter(|event| **event == "ProvisioningError").count(), 1);
    world.events.clear();
}

#[test]
fn a_protected_host_gets_no_image_until_it_is_permitted() {
    let mut world = World::new();
    protect(&mut world);
    world.until(|world| world.state() == "available");
    assert!(world.status().hardware.is_some(), "an inspection only reads");
    assert_held(&mut world, "available", "no image is written");
    assert_eq!((&world.disk, world.erased), (&None, None));
    permit(&mut world);
    world.until_state("provisioned");
    assert_eq!(world.status().error_count, 0);
}

#[test]
fn a_protected_system_is_neither_replaced_nor_removed() {
    let mut world = World::new();
    world.until_state("provisioned");
    world.events.clear();
    protect(&mut world);
    assert!(!writes(&mut world) && world.status().error_type.is_none(), "nothing would be written");
    let first = world.host.spec.image.clone();
    for wanted in [Some(image("http://images/b.raw")), None] {
        world.host.spec.image = wanted;
        assert_held(&mut world, "provisioned", "another image or for none");
        world.host.spec.image = first.clone();
        world.until_state("provisioned");
    }
    world.delete();
    assert_held(&mut world, "deprovisioning", "automatedCleaningMode");
    assert_eq!(world.disk.as_deref(), Some("http://images/a.raw"));
    // The other way out leaves the disks as they are.
    world.host.spec.automated_cleaning_mode = Some("disabled".into());
    world.until(|world| world.is_gone);
    assert_eq!(world.disk.as_deref(), Some("http://images/a.raw"));
}

#[test]
fn protection_is_stronger_than_earlier_failures() {
    let mut world = World::new();
    world.until_state("provisioned");
    world.annotate(names::ERASE, "everything");
    world.failing = Some(("clean/", 2));
    world.delete();
    world.until(|world| world.status().error_count == 2);
    world.events.clear();
    protect(&mut world);
    assert!(!writes(&mut world) && !world.is_gone);
    assert!(world.status().error_message.contains(PROTECT_DISKS), "{}", world.status().error_message);
    permit(&mut world);
    world.until(|world| world.is_gone);
    assert_eq!(world.disk, None, "it was cleaned when this was permitted");
}

#[test]
fn work_that_has_begun_is_ended_and_begins_again_when_it_is_permitted() {
    for (work, state, is_gone) in [
        ("clean/", "provisioning", false),
        ("deploy/", "provisioning", true),
        ("clean/", "deprovisioning", false),
    ] {
        let mut world = World::new();
        if state == "deprovisioning" {
            world.until_state("provisioned");
            world.host.spec.image = None;
        }
        let is_told = |world: &World| world.agent.as_ref().is_some_and(|agent| agent.id.starts_with(work));
        world.until(|world| is_told(world) && world.state() == state);
        if let Some(agent) = &mut world.agent {
            // The instruction is not read yet, or the agent is silent in the meantime.
            (agent.is_to_write, agent.is_gone) = (true, is_gone);
            (agent.id, agent.state) = (String::new(), None);
        }
        world.events.clear();
        protect(&mut world);
        let plan = world.step();
        assert!(plan.instruction.is_some_and(|told| told.action == Action::Wait), "{work} {state}");
        assert!(world.events.contains(&"DisksProtected"), "{:?}", world.events);
        assert_held(&mut world, state, "protected");
        permit(&mut world);
        let next = if state == "provisioning" { "provisioned" } else { "available" };
        world.until_state(next);
        assert_eq!(world.disk.is_some(), state == "provisioning");
    }
}

#[test]
fn an_image_that_is_already_written_is_started() {
    let mut world = World::new();
    world.until(|world| {
        world
            .agent
            .as_ref()
            .is_some_and(|agent| agent.id.starts_with("deploy/") && agent.state == Some(State::Done))
    });
    protect(&mut world);
    world.until_state("provisioned");
    assert_eq!(world.disk.as_deref(), Some("http://images/a.raw"));
}

#[test]
fn a_protected_host_is_not_cleaned_for_the_live_image_of_a_claim() {
    for protected_in in ["available", "provisioning"] {
        let mut world = World::new();
        world.means = Means::Bmc {
            credentials: "bmc".into(),
            version: "1".into(),
            has_media: true,
            boots_media: false,
        };
        world.host.spec.consumer_ref =
            Some(ObjectReference { kind: Some("HostClaim".into()), ..ObjectReference::default() });
        if let Some(image) = &mut world.host.spec.image {
            image.format = Some("live-iso".into());
        }
        world.until(|world| world.state() == protected_in);
        protect(&mut world);
        assert_held(&mut world, protected_in, "they are not cleaned for a live image");
        permit(&mut world);
        world.until_state("provisioned");
    }
}
