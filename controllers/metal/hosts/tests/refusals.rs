//! Checks that impossible requests are reported before anything is done to a machine.

use metal::control::Command;
use metal::host::observed::Means;
use metal::names;
use schemas::metal3::{CustomDeploy, RaidConfig};

use crate::metal_hosts::support::World;

fn deploy(method: &str) -> Option<CustomDeploy> {
    Some(CustomDeploy { method: method.into() })
}

#[test]
fn deploy_steps_of_other_ramdisks_are_refused_and_ours_writes_the_image() {
    let mut world = World::new();
    world.host.spec.custom_deploy = deploy("install_coreos");
    world.until(|world| world.status().error_count == 3);
    let status = world.status();
    assert_eq!(
        (world.state().as_str(), status.error_type.as_deref()),
        ("available", Some("provisioning error"))
    );
    for part in ["install_coreos", "write_image", "spec.image"] {
        assert!(status.error_message.contains(part), "{}", status.error_message);
    }
    assert!(!world.states.contains(&"provisioning".to_owned()), "nothing is wiped in vain");

    world.host.spec.custom_deploy = deploy("write_image");
    world.until_state("provisioned");
    assert_eq!(world.disk.as_deref(), Some("http://images/a.raw"));
    assert_eq!(world.status().provisioning.custom_deploy, deploy("write_image"));

    world.host.spec.custom_deploy = deploy("install_other");
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.state(), "available", "another method is another system");
    world.host.spec.custom_deploy = deploy("write_image");
    world.host.spec.image = None;
    world.until(|world| world.status().error_message.contains("set it"));
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
        let mut world = World::new();
        world.host.spec.raid = Some(raid);
        world.until(|world| world.status().error_type.is_some());
        assert_eq!(world.status().error_type.as_deref(), Some("preparation error"));
        assert!(world.status().error_message.contains(part), "{}", world.status().error_message);
        world.host.spec.raid =
            Some(RaidConfig { software_raid_volumes: Some(Vec::new()), ..RaidConfig::default() });
        world.until_state("provisioned");
    }
}

#[test]
fn a_live_image_wants_virtual_media() {
    let mut world = World::new();
    if let Some(image) = &mut world.host.spec.image {
        image.format = Some("live-iso".into());
    }
    world.until(|world| world.status().error_type.is_some());
    assert!(
        world.status().error_message.contains("redfish-virtualmedia"),
        "{}",
        world.status().error_message
    );
    world.means =
        Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media: false };
    world.until_state("provisioned");
    assert!(world.commands.contains(&Command::Insert("http://images/a.raw".into())));
}

#[test]
fn a_machine_that_another_host_claims_is_not_touched() {
    let conflict = "machine 52-54-00-00-00-01 is claimed by another host too: metal/host-1; correct it";
    let mut world = World::new();
    world.until(|world| world.state() == "inspecting");
    world.annotate(names::CONFLICT, conflict);
    let before = world.commands.len();
    (0..10).for_each(|_| drop(world.step()));
    let status = world.status();
    assert_eq!((status.error_type.as_deref(), status.error_count), (Some("registration error"), 1));
    assert_eq!((status.error_message.as_str(), world.commands.len()), (conflict, before));
    world.host.metadata.annotations.get_or_insert_default().remove(names::CONFLICT);
    world.until_state("provisioned");

    world.annotate(names::CONFLICT, conflict);
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.status().error_type.as_deref(), Some("provisioned registration error"));
    assert_eq!(world.state(), "provisioned");
    world.delete();
    world.until(|world| world.is_gone);
}
