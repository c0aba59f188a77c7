//! Checks that nothing is written to the disks of a protected host, in no state.

use agent_protocol::{Action, State};
use metal::host::observed::Means;
use metal::host::plan::Plan;
use metal::names::{self, PROTECT_DISKS};
use schemas::meta::ObjectReference;

use crate::metal_hosts::support::{Fixture, image};

/// Reconciles a few times, and returns whether an instruction wrote to the disks.
fn writes(fixture: &mut Fixture) -> bool {
    let writes = |plan: Plan| {
        plan.instruction.is_some_and(|told| matches!(told.action, Action::Clean { .. } | Action::Deploy(_)))
    };
    (0..10).filter(|_| writes(fixture.step())).count() > 0
}

fn protect(fixture: &mut Fixture) {
    fixture.annotate(PROTECT_DISKS, "true");
}

fn permit(fixture: &mut Fixture) {
    fixture.host.metadata.annotations.get_or_insert_default().remove(PROTECT_DISKS);
}

#[track_caller]
fn assert_held(fixture: &mut Fixture, state: &str, step: &str) {
    assert!(!writes(fixture), "{state}");
    let status = fixture.status();
    assert_eq!((fixture.state().as_str(), status.error_count), (state, 1), "{}", status.error_message);
    assert_eq!(status.error_type.as_deref(), Some("provisioning error"));
    let remedy = format!("kubectl annotate bmh host-0 {PROTECT_DISKS}-");
    for part in [step, remedy.as_str()] {
        assert!(status.error_message.contains(part), "{part}: {}", status.error_message);
    }
    let ready =
        status.conditions.iter().find(|known| known.type_ == "Ready").map(|known| known.message.as_str());
    assert_eq!(ready, Some(status.error_message.as_str()));
    assert_eq!(fixture.events.iter().filter(|event| **event == "ProvisioningError").count(), 1);
    fixture.events.clear();
}

#[test]
fn a_protected_host_gets_no_image_until_it_is_permitted() {
    let mut fixture = Fixture::new();
    protect(&mut fixture);
    fixture.until(|fixture| fixture.state() == "available");
    assert!(fixture.status().hardware.is_some(), "an inspection only reads");
    assert_held(&mut fixture, "available", "no image is written");
    assert_eq!((&fixture.disk, fixture.erased), (&None, None));
    permit(&mut fixture);
    fixture.until_state("provisioned");
    assert_eq!(fixture.status().error_count, 0);
}

#[test]
fn a_protected_system_is_neither_replaced_nor_removed() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    fixture.events.clear();
    protect(&mut fixture);
    assert!(!writes(&mut fixture) && fixture.status().error_type.is_none(), "nothing would be written");
    let first = fixture.host.spec.image.clone();
    for wanted in [Some(image("http://images/b.raw")), None] {
        fixture.host.spec.image = wanted;
        assert_held(&mut fixture, "provisioned", "another image or for none");
        fixture.host.spec.image = first.clone();
        fixture.until_state("provisioned");
    }
    fixture.delete();
    assert_held(&mut fixture, "deprovisioning", "automatedCleaningMode");
    assert_eq!(fixture.disk.as_deref(), Some("http://images/a.raw"));
    // The other way out leaves the disks as they are.
    fixture.host.spec.automated_cleaning_mode = Some("disabled".into());
    fixture.until(|fixture| fixture.is_gone);
    assert_eq!(fixture.disk.as_deref(), Some("http://images/a.raw"));
}

#[test]
fn protection_is_stronger_than_earlier_failures() {
    let mut fixture = Fixture::new();
    fixture.until_state("provisioned");
    fixture.annotate(names::ERASE, "everything");
    fixture.failing = Some(("clean/", 2));
    fixture.delete();
    fixture.until(|fixture| fixture.status().error_count == 2);
    fixture.events.clear();
    protect(&mut fixture);
    assert!(!writes(&mut fixture) && !fixture.is_gone);
    assert!(fixture.status().error_message.contains(PROTECT_DISKS), "{}", fixture.status().error_message);
    permit(&mut fixture);
    fixture.until(|fixture| fixture.is_gone);
    assert_eq!(fixture.disk, None, "it was cleaned when this was permitted");
}

#[test]
fn work_that_has_begun_is_ended_and_begins_again_when_it_is_permitted() {
    for (work, state, is_gone) in [
        ("clean/", "provisioning", false),
        ("deploy/", "provisioning", true),
        ("clean/", "deprovisioning", false),
    ] {
        let mut fixture = Fixture::new();
        if state == "deprovisioning" {
            fixture.until_state("provisioned");
            fixture.host.spec.image = None;
        }
        let is_told =
            |fixture: &Fixture| fixture.agent.as_ref().is_some_and(|agent| agent.id.starts_with(work));
        fixture.until(|fixture| is_told(fixture) && fixture.state() == state);
        if let Some(agent) = &mut fixture.agent {
            // The instruction is not read yet, or the agent is silent in the meantime.
            (agent.is_to_write, agent.is_gone) = (true, is_gone);
            (agent.id, agent.state) = (String::new(), None);
        }
        fixture.events.clear();
        protect(&mut fixture);
        let plan = fixture.step();
        assert!(plan.instruction.is_some_and(|told| told.action == Action::Wait), "{work} {state}");
        assert!(fixture.events.contains(&"DisksProtected"), "{:?}", fixture.events);
        assert_held(&mut fixture, state, "protected");
        permit(&mut fixture);
        let next = if state == "provisioning" { "provisioned" } else { "available" };
        fixture.until_state(next);
        assert_eq!(fixture.disk.is_some(), state == "provisioning");
    }
}

#[test]
fn an_image_that_is_already_written_is_started() {
    let mut fixture = Fixture::new();
    fixture.until(|fixture| {
        fixture
            .agent
            .as_ref()
            .is_some_and(|agent| agent.id.starts_with("deploy/") && agent.state == Some(State::Done))
    });
    protect(&mut fixture);
    fixture.until_state("provisioned");
    assert_eq!(fixture.disk.as_deref(), Some("http://images/a.raw"));
}

#[test]
fn a_protected_host_is_not_cleaned_for_the_live_image_of_a_claim() {
    for protected_in in ["available", "provisioning"] {
        let mut fixture = Fixture::new();
        fixture.means = Means::Bmc {
            credentials: "bmc".into(),
            version: "1".into(),
            has_media: true,
            boots_media: false,
        };
        fixture.host.spec.consumer_ref =
            Some(ObjectReference { kind: Some("HostClaim".into()), ..ObjectReference::default() });
        if let Some(image) = &mut fixture.host.spec.image {
            image.format = Some("live-iso".into());
        }
        fixture.until(|fixture| fixture.state() == protected_in);
        protect(&mut fixture);
        assert_held(&mut fixture, protected_in, "they are not cleaned for a live image");
        permit(&mut fixture);
        fixture.until_state("provisioned");
    }
}
