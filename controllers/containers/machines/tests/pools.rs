//! MachinePools whose machines are containers.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeSet;
use std::time::Duration;

use engine::Manager;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};
use serde_json::{Value, json};
use test_plane::Fixture;
use test_plane::requests::{Kill, Moment};

use crate::containers_machines::fixture::{cluster, fixture, get, is_ready, machine, pool, tells};
use crate::containers_machines::host::Host;

fn dev(manager: &Manager) -> DevMachinePool {
    get::<DevMachinePool>(manager, "default", "pool").unwrap().as_ref().clone()
}

/// Returns the containers of the pool that run.
fn containers(host: &Host) -> BTreeSet<String> {
    host.names().into_iter().filter(|name| name.contains("pool")).collect()
}

/// Returns the failure domains of the containers of the pool.
fn domains(host: &Host) -> BTreeSet<String> {
    let domain = |name: &String| {
        host.machine(name).unwrap().container.labels["io.x-k8s.cluster.failureDomain"].clone()
    };
    containers(host).iter().map(domain).collect()
}

/// Returns whether the pool has this number of machines, all of them of this version, and all ready.
fn is_settled(manager: &Manager, replicas: usize, version: &str) -> bool {
    let Some(pool) = get::<MachinePool>(manager, "default", "pool") else { return false };
    let status = pool.status.clone().unwrap_or_default();
    let count = i32::try_from(replicas).ok();
    let machines = manager.objects::<Machine>().all();
    let own = machines.iter().filter(|machine| {
        machine.metadata.name.as_ref().unwrap().starts_with("pool")
            && machine.spec.version.as_deref() == Some(version)
            && machine.condition_is_true("Ready")
    });
    status.replicas == count
        && status.ready_replicas == count
        && status.node_refs.len() == replicas
        && own.count() == replicas
        && manager.objects::<DevMachine>().all().len() == replicas + 1
        && dev(manager).condition_is_true("Ready")
}

async fn settles(fixture: &Fixture, replicas: usize, version: &str) {
    let what = format!("{replicas} machines of {version}");
    fixture.until(&what, |manager| is_settled(manager, replicas, version)).await;
}

async fn change(fixture: &Fixture, spec: Value) {
    fixture.patch::<MachinePool>("pool", json!({"spec": spec})).await;
}

async fn started() -> (Fixture, Host) {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", "first-cp-1", json!({})).await;
    fixture.until("the control plane is ready", |manager| is_ready(manager, "first-cp-1")).await;
    (fixture, host)
}

#[tokio::test(start_paused = true)]
async fn a_pool_comes_up_is_scaled_upgraded_and_deleted() {
    let (fixture, host) = started().await;
    pool(&fixture, 2, json!({"failureDomains": ["fd1", "fd2"]})).await;
    settles(&fixture, 2, "v1.35.0").await;
    let first = containers(&host);
    for name in &first {
        let machine = host.machine(name).unwrap();
        assert!(name.starts_with("first-pool-"), "{name}");
        assert_eq!((machine.begun, machine.imported), (1, 1));
        assert_eq!(machine.container.image, "kindest/node:v1.35.0");
        assert_eq!(machine.container.labels["dev.cluster.x-k8s.io/machine-pool"], "pool");
    }
    assert_eq!(domains(&host).len(), 2, "they are spread");
    let of = dev(&fixture.manager);
    assert_eq!(of.spec.provider_id.as_deref(), Some("dev:////first-dmp-pool"));
    let ids: Vec<String> = first.iter().map(|name| format!("docker:////{name}")).collect();
    assert_eq!(of.spec.provider_id_list, ids);
    let status = of.status.unwrap();
    assert_eq!((status.replicas, status.ready), (Some(2), Some(true)));
    let is_complete = |it: &schemas::infrastructure::DevMachinePoolInstance| {
        it.ready == Some(true) && it.version.as_deref() == Some("v1.35.0") && it.addresses.len() == 3
    };
    assert!(status.instances.len() == 2 && status.instances.iter().all(is_complete), "{status:?}");

    change(&fixture, json!({"replicas": 3})).await;
    settles(&fixture, 3, "v1.35.0").await;
    assert!(containers(&host).is_superset(&first), "no machine was replaced");
    change(&fixture, json!({"replicas": 2})).await;
    settles(&fixture, 2, "v1.35.0").await;

    change(&fixture, json!({"template": {"spec": {"version": "v1.36.0"}}})).await;
    let least = std::cell::Cell::new(usize::MAX);
    let is_upgraded = |manager: &Manager| {
        let ready = |machine: &&std::sync::Arc<Machine>| {
            machine.metadata.name.as_ref().unwrap().starts_with("pool")
                && machine.metadata.deletion_timestamp.is_none()
                && machine.condition_is_true("Ready")
        };
        least.set(least.get().min(manager.objects::<Machine>().all().iter().filter(ready).count()));
        is_settled(manager, 2, "v1.36.0")
    };
    fixture.until("another version", is_upgraded).await;
    assert_eq!(least.get(), 2, "there were always two ready machines");
    assert!(
        containers(&host).iter().all(|name| host.machine(name).unwrap().container.image.ends_with("v1.36.0"))
    );
    assert_eq!(domains(&host).len(), 2, "they are still spread");

    fixture.delete::<MachinePool>("pool").await;
    fixture.until("it is gone", |manager| get::<DevMachinePool>(manager, "default", "pool").is_none()).await;
    assert_eq!(host.names(), ["first-cp-1"]);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_a_pool_that_dies_is_told_and_replaced_when_it_is_deleted() {
    let (fixture, host) = started().await;
    pool(&fixture, 2, json!({})).await;
    settles(&fixture, 2, "v1.35.0").await;
    let name = containers(&host).pop_first().unwrap();
    host.with(|contents| contents.kill(&name));
    fixture.until("the pool says so", |manager| !dev(manager).condition_is_true("Ready")).await;
    let said = dev(&fixture.manager).condition("ReplicasReady").unwrap().message.clone();
    assert_eq!(said, "1 of 2 machines are ready");
    fixture.delete::<Machine>(name.trim_start_matches("first-")).await;
    fixture
        .until("it is replaced", |manager| {
            !containers(&host).contains(&name) && is_settled(manager, 2, "v1.35.0")
        })
        .await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_a_pool_whose_container_is_gone_is_told_and_replaced() {
    let (fixture, host) = started().await;
    pool(&fixture, 2, json!({})).await;
    settles(&fixture, 2, "v1.35.0").await;
    let before = containers(&host);
    let name = before.first().unwrap().clone();
    host.with(|contents| drop(contents.machines.remove(&name)));
    let machine = name.trim_start_matches("first-").to_owned();
    tells(&fixture, &machine, "ContainerProvisioned", "it is gone. Once its Node is not ready either").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let is_there = |manager: &Manager| get::<Machine>(manager, "default", &machine).is_some();
    assert!(
        is_there(&fixture.manager),
        "its Node is ready: the container may be that of another data directory"
    );
    host.lose(&name).await;
    fixture
        .until("it is replaced", |manager| {
            containers(&host).len() == 2 && !is_there(manager) && is_settled(manager, 2, "v1.35.0")
        })
        .await;
    assert_eq!(containers(&host).intersection(&before).count(), 1, "the other one stays");
    fixture.manager.stop().await;
}

/// A pool of two comes up; the process ends at a write of the API. Returns the writes.
async fn run(kill: Option<(usize, Moment)>) -> Vec<String> {
    let (mut fixture, host) = started().await;
    let before = fixture.requests.trace().len();
    if let Some((write, moment)) = kill {
        let write = u64::try_from(before + write + 1).unwrap();
        fixture.requests.plan(Kill { write, moment });
    }
    pool(&fixture, 2, json!({})).await;
    let what = format!("{kill:?}: two machines");
    fixture.until_with_kills(&what, |manager| is_settled(manager, 2, "v1.35.0")).await;
    let created = host.with(|contents| contents.created.clone());
    assert_eq!(created.len(), 3, "{kill:?}: {created:?}");
    for name in containers(&host) {
        assert_eq!(host.machine(&name).unwrap().begun, 1, "{kill:?}");
    }
    fixture.manager.stop().await;
    fixture.requests.trace().split_off(before)
}

#[tokio::test(start_paused = true)]
async fn each_machine_of_a_pool_is_made_once_wherever_the_process_ends() {
    let writes = run(None).await;
    let is_of_machine = |(_, write): &(usize, &String)| write.contains("/devmachines");
    let writes: Vec<usize> =
        writes.iter().enumerate().filter(is_of_machine).map(|(number, _)| number).collect();
    assert!(writes.len() > 6, "{writes:?}");
    for write in writes {
        for moment in [Moment::Before, Moment::After] {
            run(Some((write, moment))).await;
        }
    }
}
