//! What goes wrong is told, and a machine can be deleted nevertheless.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::time::Duration;

use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::json;
use test_plane::Fixture;

use crate::containers_machines::fixture::{
    cluster, fixture, get, is_ready, is_up, machine, machine_with, said, secret, tells,
};
use crate::containers_machines::host::{Ends, Host};

const NAME: &str = "first-cp-1";

async fn goes(fixture: &Fixture, host: &Host) {
    fixture.delete::<Machine>(NAME).await;
    fixture.until("it is gone", |manager| get::<DevMachine>(manager, "default", NAME).is_none()).await;
    assert_eq!(host.names(), [""; 0]);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_container_that_dies_behind_our_back_is_told_and_not_made_again() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    fixture.until("it is ready", |manager| is_ready(manager, NAME)).await;
    host.with(|contents| contents.kill(NAME));
    tells(&fixture, NAME, "ContainerProvisioned", "is not running anymore").await;
    assert!(said(&fixture.manager, NAME, "Ready").starts_with("False/"));
    assert!(said(&fixture.manager, NAME, "BootstrapCompleted").starts_with("True/"));
    host.with(|contents| drop(contents.machines.remove(NAME)));
    tells(&fixture, NAME, "ContainerProvisioned", "is gone").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(host.with(|contents| contents.created.len()), 1);
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_container_is_told_until_it_goes_on() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    fixture.until("it is ready", |manager| is_ready(manager, NAME)).await;
    host.with(|contents| contents.pause(NAME));
    tells(&fixture, NAME, "ContainerProvisioned", "`firstlight nodes resume first-cp-1` lets it go on").await;
    assert!(said(&fixture.manager, NAME, "Ready").starts_with("False/"));
    host.with(|contents| contents.start_again(NAME));
    fixture.until("it is up again", |manager| is_up(manager, "default", NAME)).await;
    assert_eq!(host.machine(NAME).unwrap().begun, 1);
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_nowhere_is_told_and_tried_again() {
    let (fixture, host) = fixture().await;
    host.with(|contents| {
        contents.missing.insert("mine".to_owned());
    });
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({"customImage": "mine"})).await;
    tells(&fixture, NAME, "ContainerProvisioned", "failed: no source has the image mine").await;
    assert!(said(&fixture.manager, NAME, "Ready").contains("no source has the image mine"));
    host.with(|contents| contents.missing.clear());
    fixture.until("it is up", |manager| is_up(manager, "default", NAME)).await;
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn a_folder_for_a_mount_that_is_not_there_is_told_and_tried_again() {
    let (fixture, host) = fixture().await;
    host.with(|contents| {
        contents.missing.insert("/srv/data".to_owned());
    });
    cluster(&fixture, "default").await;
    let mounts = json!([{"hostPath": "/srv/data", "containerPath": "/data"}]);
    machine(&fixture, "default", NAME, json!({"extraMounts": mounts})).await;
    let expected = "spec.backend.docker.extraMounts: /srv/data is not on this machine";
    tells(&fixture, NAME, "ContainerProvisioned", expected).await;
    assert_eq!(host.names(), [""; 0]);
    host.with(|contents| contents.missing.clear());
    fixture.until("it is up", |manager| is_up(manager, "default", NAME)).await;
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_is_away_is_told_and_what_is_there_stays() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    fixture.until("it is ready", |manager| is_ready(manager, NAME)).await;
    host.with(|contents| contents.is_away = true);
    machine(&fixture, "default", "first-new", json!({})).await;
    tells(&fixture, "first-new", "ContainerProvisioned", "False/NotProvisioned Docker does not answer").await;
    let balancer = |manager: &engine::Manager| {
        let dev = get::<DevCluster>(manager, "default", "first")?;
        dev.condition("LoadBalancerAvailable").map(|it| (it.reason.clone(), it.message.clone()))
    };
    fixture
        .until("the load balancer's state is unknown", |manager| {
            let said = balancer(manager);
            said.is_some_and(|(reason, message)| {
                reason == "NotAvailable" && message.contains("Docker does not answer")
            })
        })
        .await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(is_up(&fixture.manager, "default", NAME), "nothing is known of it, and its Node says how it is");
    host.with(|contents| contents.is_away = false);
    fixture.until("the new one is ready", |manager| is_ready(manager, "first-new")).await;
    fixture
        .until("the load balancer is there", |manager| {
            balancer(manager).is_some_and(|(reason, _)| reason == "Available")
        })
        .await;
    assert_eq!(host.with(|contents| contents.created.len()), 2);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_before_the_daemon_says_nothing_of_machines_that_were_up() {
    let (mut fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    fixture.until("it is ready", |manager| is_ready(manager, NAME)).await;
    host.with(|contents| contents.is_away = true);
    fixture.restart().await;
    machine(&fixture, "default", "first-new", json!({})).await;
    tells(&fixture, "first-new", "ContainerProvisioned", "False/NotProvisioned Docker does not answer").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(is_up(&fixture.manager, "default", NAME), "its Node says how it is");
    host.with(|contents| contents.is_away = false);
    fixture.until("the new one is ready", |manager| is_ready(manager, "first-new")).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_deleted_while_the_daemon_is_away_leaves_no_container() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    // Without bootstrap data it has a container, and no provider ID.
    machine_with(&fixture, "default", NAME, json!({}), "none").await;
    tells(&fixture, NAME, "ContainerProvisioned", "True/Provisioned").await;
    host.with(|contents| contents.is_away = true);
    fixture.delete::<Machine>(NAME).await;
    tells(&fixture, NAME, "ContainerProvisioned", "False/Deleting Docker does not answer").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(host.names(), [NAME]);
    host.with(|contents| contents.is_away = false);
    fixture.until("it is gone", |manager| get::<DevMachine>(manager, "default", NAME).is_none()).await;
    assert_eq!(host.names(), [""; 0]);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_image_of_another_version_is_told_and_no_container_is_made() {
    let (fixture, host) = fixture().await;
    host.with(|contents| drop(contents.versions.insert("mine".to_owned(), "v1.35.0".to_owned())));
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({"customImage": "mine"})).await;
    let expected = "the image mine is made for Kubernetes v1.35.0, and v1.36.0 is wanted";
    tells(&fixture, NAME, "ContainerProvisioned", expected).await;
    assert_eq!(host.names(), [""; 0]);
    host.with(|contents| drop(contents.versions.insert("mine".to_owned(), "v1.36.0".to_owned())));
    fixture.until("it is up", |manager| is_up(manager, "default", NAME)).await;
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn garbage_as_bootstrap_data_is_told_without_its_content() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    let garbage = json!({"value": "#cloud-config\nruncmd: hunter2: ["});
    secret(&fixture, "default", "garbage", garbage).await;
    machine_with(&fixture, "default", NAME, json!({}), "garbage").await;
    tells(&fixture, NAME, "BootstrapCompleted", "False/InvalidBootstrapData").await;
    let said = said(&fixture.manager, NAME, "BootstrapCompleted");
    assert!(said.contains("Secret default/garbage") && !said.contains("hunter2"), "{said}");
    assert_eq!(host.machine(NAME).unwrap().begun, 0);
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn a_bootstrap_that_failed_is_final() {
    let (mut fixture, host) = fixture().await;
    host.with(|contents| contents.ends = Ends::Failed);
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    tells(&fixture, NAME, "BootstrapCompleted", "exited with status: 3").await;
    assert!(said(&fixture.manager, NAME, "BootstrapCompleted").contains("no route to host"));
    fixture.restart().await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(said(&fixture.manager, NAME, "BootstrapCompleted").starts_with("False/Failed"));
    assert_eq!(host.machine(NAME).unwrap().begun, 1, "no step is taken twice");
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn a_bootstrap_that_hangs_does_not_hold_up_the_deletion() {
    let (fixture, host) = fixture().await;
    host.with(|contents| contents.ends = Ends::Never);
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    tells(&fixture, NAME, "BootstrapCompleted", "(1 of 2)").await;
    goes(&fixture, &host).await;
}

/// The node does not end it: what it waits for is no command.
#[tokio::test(start_paused = true)]
async fn a_bootstrap_that_never_ends_has_failed_after_its_time_and_is_killed() {
    let (mut fixture, host) = fixture().await;
    host.with(|contents| contents.ends = Ends::Never);
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({"bootstrapTimeout": "20s"})).await;
    let begun = machinery::clock::Clock::system().monotonic();
    tells(&fixture, NAME, "BootstrapCompleted", "(1 of 2): the node has not ended it when its time was over")
        .await;
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    assert!(
        said(&fixture.manager, NAME, "BootstrapCompleted").starts_with("False/Failed Bootstrap failed at")
    );
    assert!(host.machine(NAME).unwrap().killed);
    fixture.restart().await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(
        said(&fixture.manager, NAME, "BootstrapCompleted").starts_with("False/Failed Bootstrap failed at")
    );
    assert_eq!(host.machine(NAME).unwrap().begun, 1);
    goes(&fixture, &host).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_in_which_no_command_ends_has_failed_after_the_time_of_its_bootstrap() {
    let (fixture, host) = fixture().await;
    host.with(|contents| contents.ends = Ends::Silent);
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({"bootstrapTimeout": "200s"})).await;
    tells(&fixture, NAME, "BootstrapCompleted", "a command in the node has not ended after 60 s").await;
    tells(&fixture, NAME, "BootstrapCompleted", "False/Failed Bootstrap failed: the node has not said").await;
    goes(&fixture, &host).await;
}
