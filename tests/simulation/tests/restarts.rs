//! Restarts of the process, after which each simulated cluster answers again, whatever waits for what.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use engine::NamespacedName;
use engine::clusters::kubeconfig_secret;
use engine::testing::WorkloadClients;
use firstlight::manifests::apply::apply_all;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use net::Network;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use serde_json::{Value, json};
use simulation::drawn::manifests::cluster;
use simulation::drawn::script::ClusterShape;
use simulation::simulation::{Life, Simulation};

use crate::seeds::number;

/// Clusters and restarts of an ordinary run; `cargo xtask restarts` says others.
const CLUSTERS: u64 = 4;
const RESTARTS: u64 = 4;
/// Within this time after a start in virtual time, each cluster answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// The longest delay of a request in virtual time.
const DELAY: Duration = Duration::from_millis(200);
/// The controllers are at rest if none has work to do within this time.
const REST: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(1800);

fn clusters() -> u64 {
    number("RESTARTS_CLUSTERS", CLUSTERS)
}

fn restarts() -> u64 {
    number("RESTARTS", RESTARTS)
}

fn name(number: u64) -> NamespacedName {
    NamespacedName::new("default", format!("c{number}"))
}

/// Applies the clusters, and waits until they are Available.
async fn create(life: &Life) -> Result<()> {
    for number in 0..clusters() {
        let shape = ClusterShape {
            namespace: "default",
            name: name(number).name,
            control_plane: 1 + i64::try_from(number % 2)? * 2,
            workers: 1,
            surge: 1,
            unavailable: 0,
            unhealthy: "100%",
            startup: 0,
            is_of_class: false,
        };
        apply_all(&life.plane.registry, &life.plane.client("user"), &cluster(&shape)?).await?;
    }
    let is_available = |number| {
        let found = life.manager.objects::<Cluster>().get(&name(number));
        found.is_some_and(|cluster| cluster.condition_is_true("Available"))
    };
    let all = async {
        while !(0..clusters()).all(is_available) || !life.manager.is_idle(REST) {
            life.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LIMIT, all).await.context("the clusters do not come up")
}

/// Asks the API server of a cluster as a client with its kubeconfig.
async fn ask(life: &Life, number: u64) -> Result<()> {
    let secret = life.manager.objects::<Secret>().get(&kubeconfig_secret(&name(number)));
    let secret = secret.context("there is no kubeconfig")?;
    let kubeconfig = secret.data.as_ref().and_then(|data| data.get("value")).context("an empty Secret")?;
    let network: Arc<dyn Network> = Arc::new(life.network.clone());
    let clients = WorkloadClients::new(&network, &life.clock, &kubeconfig.0)?;
    clients.shared.apiserver_version().await?;
    Ok(())
}

/// Returns the clusters that do not answer, each with the reason.
async fn dead(life: &Life) -> Vec<String> {
    let mut dead = Vec::new();
    for number in 0..clusters() {
        if let Err(error) = ask(life, number).await {
            dead.push(format!("c{number}: {error:#}"));
        }
    }
    dead
}

/// Waits until all clusters answer; the time is that of a new life.
async fn all_answer(life: &Life) -> Result<()> {
    let until = life.clock.monotonic() + ANSWERS_WITHIN;
    loop {
        let dead = dead(life).await;
        if dead.is_empty() {
            return Ok(());
        }
        if life.clock.monotonic() >= until {
            bail!("{} of {} clusters are dead: {}", dead.len(), clusters(), dead.join("; "));
        }
        life.clock.sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn after_each_restart_all_clusters_answer_whatever_is_late() {
    let mut simulation = Simulation::new(19);
    simulation.live(async |life, _| create(life).await).expect("seed 19");
    for restart in 1..=restarts() {
        simulation.requests.slow_down(DELAY, restart);
        simulation
            .live(async |life, _| all_answer(life).await)
            .unwrap_or_else(|error| panic!("restart {restart}: {error:#}"));
    }
}

async fn set_paused(life: &Life, paused: Value) -> Result<()> {
    let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
    let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
    clusters.patch("c1", &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn is_paused(life: &Life) -> Result<()> {
    let paused = async {
        while life
            .manager
            .objects::<Cluster>()
            .get(&name(1))
            .is_none_or(|cluster| cluster.spec.paused != Some(true))
            || !life.manager.is_idle(REST)
        {
            life.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LIMIT, paused).await.context("the Cluster is not paused")
}

/// A pause stops the controllers, and not what they made.
#[test]
fn a_paused_cluster_answers_after_a_restart_and_when_it_goes_on() {
    let mut simulation = Simulation::new(23);
    let paused = simulation.live(async |life, _| {
        create(life).await?;
        set_paused(life, json!(true)).await?;
        is_paused(life).await
    });
    paused.expect("a paused cluster");
    simulation.requests.slow_down(DELAY, 1);
    let resumed = simulation.live(async |life, _| {
        all_answer(life).await.context("while it is paused")?;
        set_paused(life, Value::Null).await?;
        life.clock.sleep(Duration::from_secs(60)).await;
        all_answer(life).await.context("when it is resumed")
    });
    resumed.expect("seed 23");
    simulation.live(async |life, _| all_answer(life).await).expect("another restart");
}

/// Returns reason and message of the condition `Ready` of a DevCluster.
fn ready(life: &Life, number: u64) -> (String, String) {
    let found = life.manager.objects::<DevCluster>().get(&name(number));
    let condition = found.and_then(|dev| dev.condition("Ready").cloned()).unwrap_or_default();
    (condition.reason, condition.message)
}

async fn until_ready_says(life: &Life, number: u64, reason: &str) -> Result<String> {
    let said = async {
        while ready(life, number).0 != reason {
            life.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    let outcome = tokio::time::timeout(Duration::from_secs(60), said).await;
    outcome.with_context(|| format!("Ready is {:?}, not {reason}", ready(life, number)))?;
    Ok(ready(life, number).1)
}

/// The authority of etcd is missing at a start, and comes back later.
#[test]
fn an_endpoint_without_a_server_says_what_it_waits_for_and_is_made_good() {
    let mut simulation = Simulation::new(41);
    let mut lost = None;
    let taken = simulation.live(async |life, _| {
        create(life).await?;
        anyhow::ensure!(ready(life, 0).0.is_empty(), "nothing is wrong: {:?}", ready(life, 0));
        let secrets = Api::<Secret>::namespaced(life.plane.client("user"), "default");
        lost = Some(secrets.get("c0-etcd").await?);
        secrets.delete("c0-etcd", &DeleteParams::default()).await?;
        Ok(())
    });
    taken.expect("clusters");
    let outcome = simulation.live(async |life, _| {
        let message = until_ready_says(life, 0, "APIServerNotServing").await?;
        anyhow::ensure!(message.contains("c0-control-plane-"), "it names the machine: {message}");
        anyhow::ensure!(ask(life, 0).await.is_err() && ask(life, 1).await.is_ok(), "the other one answers");
        let mut secret = lost.clone().context("a Secret")?;
        (secret.metadata.uid, secret.metadata.resource_version) = (None, None);
        let secrets = Api::<Secret>::namespaced(life.plane.client("user"), "default");
        secrets.create(&PostParams::default(), &secret).await?;
        until_ready_says(life, 0, "Ready").await?;
        all_answer(life).await
    });
    outcome.expect("seed 41");
}

/// Threads that take the processor from the others.
struct Busy {
    is_done: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn start() -> Self {
        let is_done = Arc::<AtomicBool>::default();
        let count = 4 * std::thread::available_parallelism().map_or(1, usize::from);
        let spin = |is_done: Arc<AtomicBool>| {
            move || {
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..count).map(|_| std::thread::spawn(spin(is_done.clone()))).collect();
        Self { is_done, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Waits until no controller has anything to do.
async fn come_to_rest(life: &Life) -> Result<()> {
    let rest = async {
        while !life.manager.is_synced() || !life.manager.is_idle(REST) {
            life.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LIMIT, rest).await.context("the controllers do not come to rest")
}

#[test]
fn on_a_busy_machine_no_cluster_is_dead_when_all_controllers_are_at_rest() {
    let mut simulation = Simulation::in_real_time(29);
    simulation.live(async |life, _| create(life).await).expect("clusters");
    let _busy = Busy::start();
    for restart in 1..=restarts() {
        let outcome = simulation.live(async |life, _| {
            come_to_rest(life).await?;
            let dead = dead(life).await;
            if dead.is_empty() { Ok(()) } else { bail!("dead clusters: {}", dead.join("; ")) }
        });
        outcome.unwrap_or_else(|error| panic!("restart {restart}: {error:#}"));
    }
}
