//! Checks that impossible requests are reported before anything is done to a machine.

use metal::control::Command;
use metal::host::observed::Means;
use metal::names;
use schemas::metal3::{CustomDeploy, RaidConfig};

use crate::metal_hosts::support::Fixture;

fn deploy(method: &str) -> Option<CustomDeploy> {
    Some(CustomDeploy { method: method.into() })
}

#[test]
fn deploy_steps_of_other_ramdisks_are_refused_and_ours_writes_the_image() {
    let mut fixture = Fixture::new();
    fixture.host.spec.custom_deploy = deploy("install_coreos");
    fixture.until(|fixture| fixture.status().error_count == 3);
    let status = fixture.status();
    assert_eq!(
        (fixture.state().as_str(), status.error_type.as_deref()),
        ("available", Some("provisioning error"))
    );
    for part in ["install_coreos", "write_image", "spec.image"] {
        assert!(status.error_message.contains(part), "{}", status.error_message);
    }
    assert!(!fixture.states.contains(&"provisioning".to_owned()), "nothing is wiped in vain");

    fixture.host.spec.custom_deploy = deploy("write_image");
    fixture.until_state("provisioned");
    assert_eq!(fixture.disk.as_deref(), Some("http://images/a.raw"));
    assert_eq!(fixture.status().provisioning.custom_deploy, deploy("write_image"));

    fixture.host.spec.custom_deploy = deploy("install_other");
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert_eq!(fixture.state(), "available", "another method is another system");
    fixture.host.spec.custom_deploy = deploy("write_image");
    fixture.host.spec.image = None;
    fixture.until(|fixture| fixture.status().error_message.contains("set it"));
}

#[test]
fn raid_is_refused_as_what_it_is() {
    for (raid, part) in [
        (
            RaidConfig { hardware_raid_volumes: Some(Vec::new()), ..RaidConfig::default() },
            "hardwareRAIDVolumes",
        ),
        (
            RaidConfig { software_raid_volumes: Some(vec![Default::default()]), ..RaidConfig::default() },
            "softwareRAIDVolumes",
        ),
    ] {
        let mut fixture = Fixture::new();
        fixture.host.spec.raid = Some(raid);
        fixture.until(|fixture| fixture.status().error_type.is_some());
        assert_eq!(fixture.status().error_type.as_deref(), Some("preparation error"));
        assert!(fixture.status().error_message.contains(part), "{}", fixture.status().error_message);
        fixture.host.spec.raid =
            Some(RaidConfig { software_raid_volumes: Some(Vec::new()), ..RaidConfig::default() });
        fixture.until_state("provisioned");
    }
}

#[test]
fn a_live_image_wants_virtual_media() {
    let mut fixture = Fixture::new();
    if let Some(image) = &mut fixture.host.spec.image {
        image.format = Some("live-iso".into());
    }
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert!(
        fixture.status().error_message.contains("redfish-virtualmedia"),
        "{}",
        fixture.status().error_message
    );
    fixture.means =
        Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media: false };
    fixture.until_state("provisioned");
    assert!(fixture.commands.contains(&Command::Insert("http://images/a.raw".into())));
}

#[test]
fn a_machine_that_another_host_claims_is_not_touched() {
    let conflict = "machine 52-54-00-00-00-01 is claimed by another host too: metal/host-1; correct it";
    let mut fixture = Fixture::new();
    fixture.until(|fixture| fixture.state() == "inspecting");
    fixture.annotate(names::CONFLICT, conflict);
    let before = fixture.commands.len();
    (0..10).for_each(|_| drop(fixture.step()));
    let status = fixture.status();
    assert_eq!((status.error_type.as_deref(), status.error_count), (Some("registration error"), 1));
    assert_eq!((status.error_message.as_str(), fixture.commands.len()), (conflict, before));
    fixture.host.metadata.annotations.get_or_insert_default().remove(names::CONFLICT);
    fixture.until_state("provisioned");

    fixture.annotate(names::CONFLICT, conflict);
    fixture.until(|fixture| fixture.status().error_type.is_some());
    assert_eq!(fixture.status().error_type.as_deref(), Some("provisioned registration error"));
    assert_eq!(fixture.state(), "provisioned");
    fixture.delete();
    fixture.until(|fixture| fixture.is_gone);
}
