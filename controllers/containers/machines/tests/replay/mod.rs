//! Recordings of Cluster API's Dev provider with Docker, lived again: others write what they wrote there, and our controllers write the same
//! in the same order, or what a row of a table says.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod compare;
mod facts;
mod members;
mod play;
mod recording;
mod rows;
mod write;

use std::collections::BTreeMap;

use system_containers::balancer::Configuration;

use crate::containers_machines::host::{Ends, Host, LoadBalancer};
use compare::is_like;
use members::Members;
use play::{Events, play};
use rows::{ALWAYS, BEFALLS, COMES, ERRORS, GOES, IGNITION, POOL, Row, STOPPED, UNBALANCED};

/// Lives a recording. Each difference must have a row, and each row be needed.
async fn live(recording: &str, events: Events<'_>, unfinished: &[&str], rows: &[Row<'_>]) {
    let differences = play(recording, events, unfinished).await;
    let unexplained: Vec<&String> = differences
        .iter()
        .filter(|line| !ALWAYS.iter().chain(rows).any(|(pattern, _)| is_like(pattern, line)))
        .collect();
    assert!(unexplained.is_empty(), "{} differences without a row:\n{unexplained:#?}", unexplained.len());
    let unneeded: Vec<&str> = rows
        .iter()
        .map(|(pattern, _)| *pattern)
        .filter(|pattern| !differences.iter().any(|line| is_like(pattern, line)))
        .collect();
    assert!(unneeded.is_empty(), "rows that are not needed: {unneeded:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_up_grows_is_replaced_and_shrinks() {
    live(include_str!("../data/recorded/plain.txt"), &[], &[], COMES).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_goes() {
    live(include_str!("../data/recorded/delete.txt"), &[], &[], GOES).await;
}

#[tokio::test(start_paused = true)]
async fn what_befalls_containers_and_docker() {
    let events: Events<'_> = &[
        ("docker rm -f of the container", |host, _| {
            host.with(|contents| drop(contents.machines.remove("d1-md-gnjc2-dwpxm")));
        }),
        ("docker kill of the container", |host, _| host.with(|contents| contents.kill("d1-md-gnjc2-hb5ld"))),
        ("docker start of the same container", |host, _| {
            host.with(|contents| contents.start_again("d1-md-gnjc2-hb5ld"));
        }),
        ("Docker's socket goes away", |host, _| host.with(|contents| contents.is_away = true)),
        ("Docker's socket is back", |host, _| host.with(|contents| contents.is_away = false)),
        ("MachineDeployment bad-command", bad),
    ];
    // There, one of these began before the one before it had ended.
    let unfinished = ["command", "slow", "ntp", "image", "init", "mount"];
    let unfinished = unfinished.map(|name| format!("MachineDeployment bad-{name}:"));
    let unfinished = unfinished.each_ref().map(String::as_str);
    live(include_str!("../data/recorded/faults.txt"), events, &unfinished, BEFALLS).await;
}

/// What is wrong on the host for the bad MachineDeployments.
fn bad(host: &Host, _: &Members) {
    host.with(|contents| {
        contents.ends_of.insert("d1-bad-command".to_owned(), Ends::Failed);
        contents.ends_of.insert("d1-bad-slow".to_owned(), Ends::TimedOut);
        let missing = ["example.test/missing:1", "example.test/missing:2", "/nowhere/at/all"];
        contents.missing.extend(missing.map(str::to_owned));
        contents.broken.insert("example.test/tiny:1".to_owned());
    });
}

#[tokio::test(start_paused = true)]
async fn what_befalls_the_load_balancer() {
    let events: Events<'_> = &[
        ("docker rm -f of the load balancer", |host, _| host.with(|contents| contents.balancers.clear())),
        ("docker stop of control plane container", |host, _| {
            host.with(|contents| contents.kill("d2-cp-bbv5r"));
        }),
        ("docker start of d2-cp-bbv5r", |host, _| host.with(|contents| contents.start_again("d2-cp-bbv5r"))),
    ];
    // There, it hangs until somebody takes the finalizers away.
    let unfinished = ["docker rm -f of the load balancer, then the Cluster is deleted"];
    live(include_str!("../data/recorded/load-balancer.txt"), events, &unfinished, UNBALANCED).await;
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_cannot_be_made() {
    fn refuse(host: &Host, name: &str, why: &str) {
        host.with(|contents| drop(contents.unbalanced.insert(name.to_owned(), why.to_owned())));
    }
    let events: Events<'_> = &[
        ("no network kind", |host, _| refuse(host, "e1-lb", "network kind not found")),
        ("the network is made", |host, _| host.with(|contents| contents.unbalanced.clear())),
        ("Cluster e2", |host, _| refuse(host, "e2-lb", "no such image")),
    ];
    live(include_str!("../data/recorded/errors.txt"), events, &[], ERRORS).await;
}

#[tokio::test(start_paused = true)]
async fn a_stopped_container_is_in_the_place_of_the_load_balancer() {
    let events: Events<'_> = &[("a stopped container with the load balancer's labels", |host, _| {
        let address = "10.93.0.254".parse().unwrap();
        let (labels, configuration) = (BTreeMap::new(), Configuration { port: 6443, servers: Vec::new() });
        let stopped = LoadBalancer { address, labels, configuration, is_stopped: true };
        host.with(|contents| drop(contents.balancers.insert("d2-lb".to_owned(), stopped)));
    })];
    // There, the second step was not followed to its end.
    live(include_str!("../data/recorded/stopped.txt"), events, &["that container removed"], STOPPED).await;
}

#[tokio::test(start_paused = true)]
async fn bootstrap_data_of_the_format_ignition() {
    live(include_str!("../data/recorded/ignition.txt"), &[], &[], IGNITION).await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_comes_up_is_scaled_loses_a_container_is_upgraded_and_deleted() {
    // No container becomes a Node here, so the pool replaces a machine as soon as its container is gone.
    let events: Events<'_> = &[("docker rm -f of d1-worker-e4m6yl", |host, members| {
        let name = members.to_ours("d1-worker-e4m6yl");
        host.with(|contents| drop(contents.machines.remove(&name).unwrap()));
    })];
    live(include_str!("../data/recorded/pool.txt"), events, &[], POOL).await;
}
