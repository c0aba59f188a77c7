//! The controllers end at each of their writes in turn: a claim has one host, and leaves nothing behind.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::Manager;
use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::{BareMetalHost, HostClaim};
use serde_json::json;
use test_plane::Fixture;
use test_plane::requests::{Kill, Moment};

use crate::metal_machines::fixture::{
    becomes, claim, consumer, content, fixture, get, host, policy, said, secret,
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
async fn run(fixture: &mut Fixture, kill: Option<(u64, Moment)>) -> u64 {
    let before = fixture.requests.writes();
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write: before + write, moment });
    }
    claim(fixture, json!({"userData": {"name": "boot"}})).await;
    let has_image = |manager: &Manager| {
        let hosts = manager.objects::<BareMetalHost>().all();
        hosts.iter().filter(|host| host.spec.image.is_some() && host.spec.user_data.is_some()).count() == 1
    };
    fixture.until_with_kills("a host has the image", has_image).await;
    let names = used(&fixture.manager);
    let [name] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!(content(&fixture.manager, "metal", &format!("{name}-userdata")).as_deref(), Some("one"));
    becomes(fixture, name, "provisioned").await;
    fixture.until_with_kills("the claim is ready", |manager| said(manager, "Ready").0 == "True").await;

    fixture.delete_in::<HostClaim>("tenant", "c").await;
    let is_emptied = |manager: &Manager| {
        let host = get::<BareMetalHost>(manager, "metal", name).unwrap();
        host.spec.image.is_none() && consumer(&host).is_some() && copies(manager) == 0
    };
    fixture.until_with_kills("the host is emptied", is_emptied).await;
    becomes(fixture, name, "available").await;
    let is_over =
        |manager: &Manager| get::<HostClaim>(manager, "tenant", "c").is_none() && used(manager).is_empty();
    fixture.until_with_kills("the host is free", is_over).await;
    // Events are written with a delay.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    fixture.requests.writes() - before
}

#[tokio::test(start_paused = true)]
async fn a_claim_has_one_host_wherever_the_process_ends() {
    let mut fixture = fixture().await;
    policy(&fixture, json!({"names": ["tenant"]})).await;
    secret(&fixture, "tenant", "boot", "one").await;
    for name in ["rack1", "rack2"] {
        host(&fixture, name).await;
    }
    let writes = run(&mut fixture, None).await;
    assert!(writes > 8, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(&mut fixture, Some((write, moment))).await;
        }
    }
}
