//! The controllers end at each of their writes in turn: a claim has one host, and leaves nothing behind.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::Manager;
use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::{BareMetalHost, HostClaim};
use serde_json::json;
use test_plane::World;
use test_plane::requests::{Kill, Moment};

use crate::metal_machines::fixture::{
    becomes, claim, consumer, content, get, host, policy, said, secret, world,
};

fn used(manager: &Manager) -> Vec<String> {
    let hosts = manager.objects::<BareMetalHost>().all();
    let used = hosts.iter().filter(|host| consumer(host).is_some());
    used.filter_map(|host| host.metadata.name.clone()).collect()
}

fn copies(manager: &Manager) -> usize {
    manager.objects::<Secret>().in_namespace("metal").len()
}

/// A claim gets one of two hosts, is provisioned, and returns it. Returns the number of writes.
async fn run(world: &mut World, kill: Option<(u64, Moment)>) -> u64 {
    let before = world.requests.writes();
    if let Some((write, moment)) = kill {
        world.requests.plan(Kill { write: before + write, moment });
    }
    claim(world, json!({"userData": {"name": "boot"}})).await;
    let has_image = |manager: &Manager| {
        let hosts = manager.objects::<BareMetalHost>().all();
        hosts.iter().filter(|host| host.spec.image.is_some() && host.spec.user_data.is_some()).count() == 1
    };
    world.until_with_kills("a host has the image", has_image).await;
    let names = used(&world.manager);
    let [name] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!(content(&world.manager, "metal", &format!("{name}-userdata")).as_deref(), Some("one"));
    becomes(world, name, "provisioned").await;
    world.until_with_kills("the claim is ready", |manager| said(manager, "Ready").0 == "True").await;

    world.delete_in::<HostClaim>("tenant", "c").await;
    let is_emptied = |manager: &Manager| {
        let host = get::<BareMetalHost>(manager, "metal", name).unwrap();
        host.spec.image.is_none() && consumer(&host).is_some() && copies(manager) == 0
    };
    world.until_with_kills("the host is emptied", is_emptied).await;
    becomes(world, name, "available").await;
    let is_over =
        |manager: &Manager| get::<HostClaim>(manager, "tenant", "c").is_none() && used(manager).is_empty();
    world.until_with_kills("the host is free", is_over).await;
    // Events are written with a delay.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    world.requests.writes() - before
}

#[tokio::test(start_paused = true)]
async fn a_claim_has_one_host_wherever_the_process_ends() {
    let mut world = world().await;
    policy(&world, json!({"names": ["tenant"]})).await;
    secret(&world, "tenant", "boot", "one").await;
    for name in ["rack1", "rack2"] {
        host(&world, name).await;
    }
    let writes = run(&mut world, None).await;
    assert!(writes > 8, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(&mut world, Some((write, moment))).await;
        }
    }
}
