//! Benchmarks of many clusters, and of one large one: time, cost, and cost at rest. They take minutes, so each runs only by its exact name.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use http::Method;
use serde_json::{Value, json};

use crate::bench::{Bench, print};
use crate::clusters::{MERGE, OLD, wait_available};
use crate::objects::cluster;
use crate::server::{Objects, Server};

/// Numbers of clusters, and of workers of each.
const FLEETS: &[(usize, i64)] = &[(10, 3), (50, 3), (500, 3), (1000, 0)];
/// Numbers of control plane machines and workers of the large cluster.
const LARGE: (i64, i64) = (3, 500);
/// The name of the benchmark of a sick machine.
const SICK: &str = "a sick machine";
/// How long a fleet is observed at rest.
const AT_REST: Duration = Duration::from_secs(60);
/// The time for which a Node must be unhealthy, in seconds.
const UNHEALTHY: u32 = 5;
/// The start-up durations of a worker: its virtual machine and its Node, in seconds.
const STARTS: f64 = 12.0;
const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";
const CHECKS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinehealthchecks";
const DEV_MACHINES: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/devmachines";

/// Runs the benchmarks whose name is `bench.only`.
pub async fn run(bench: &Bench) -> Result<()> {
    for (count, workers) in FLEETS {
        let title = format!("{count} clusters of 1+{workers}");
        if bench.only == title {
            fleet(bench, &title, *count, *workers).await?;
        }
    }
    let title = format!("one cluster of {}+{}", LARGE.0, LARGE.1);
    if bench.only == title {
        large(bench, &title).await?;
    }
    if bench.only == SICK {
        bench.figure(SICK, "s beyond its time-out and its start", sick).await?;
    }
    Ok(())
}

/// Brings up many clusters at once, once, and prints time, cost, and the cost at rest.
async fn fleet(bench: &Bench, title: &str, count: usize, workers: i64) -> Result<()> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    let names: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
    for name in &names {
        create(&server, cluster(name, 1, workers, OLD, true)).await?;
    }
    for name in &names {
        wait_available(&server, name).await?;
    }
    let seconds = (bench.clock.monotonic() - started).as_secs_f64();
    print(&format!("| {title}: all Available | {seconds:.1} s |"));
    print(&format!("| {title}: CPU of each | {:.3} s |", (server.cpu()? - cpu) / count as f64));
    print(&format!("| {title}: memory | {:.0} MB |", server.memory()?));
    bench.clock.sleep(AT_REST).await;
    let before = server.cpu()?;
    bench.clock.sleep(AT_REST).await;
    let cores = (server.cpu()? - before) / AT_REST.as_secs_f64();
    print(&format!("| {title}: at rest | {cores:.4} cores |"));
    Ok(())
}

/// Brings up one large cluster, and deletes one of its Machines.
async fn large(bench: &Bench, title: &str) -> Result<()> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    create(&server, cluster("c", LARGE.0, LARGE.1, OLD, true)).await?;
    wait_available(&server, "c").await?;
    let all = usize::try_from(LARGE.0 + LARGE.1)?;
    server.until(MACHINES, |machines| running(machines).len() == all).await?;
    let seconds = (bench.clock.monotonic() - started).as_secs_f64();
    print(&format!("| {title}: all Running | {seconds:.1} s |"));
    print(&format!("| {title}: CPU | {:.1} s |", server.cpu()? - cpu));
    print(&format!("| {title}: memory | {:.0} MB |", server.memory()?));
    let before = running(&server.list(MACHINES).await?);
    let worker = before.iter().find(|name| name.starts_with("c-md")).context("there are no workers")?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    server.send(Method::DELETE, &format!("{MACHINES}/{worker}"), "", None).await?;
    until_replaced(&server, &before, worker).await?;
    let seconds = (bench.clock.monotonic() - started).as_secs_f64();
    print(&format!("| {title}: a worker is replaced | {seconds:.1} s |"));
    print(&format!("| {title}: CPU of that | {:.1} s |", server.cpu()? - cpu));
    Ok(())
}

/// Lets the Node of a worker become unhealthy. Returns how much later than necessary its replacement runs, in seconds.
async fn sick(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    create(&server, cluster("c", 1, 3, OLD, true)).await?;
    let check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": "c"},
        "spec": {"clusterName": "c", "selector": {"matchLabels": {"pool": "c-md"}},
            "checks": {"unhealthyNodeConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": UNHEALTHY}]}},
    });
    create(&server, [(CHECKS.to_owned(), check)]).await?;
    wait_available(&server, "c").await?;
    server.until(MACHINES, |machines| running(machines).len() == 4).await?;
    let before = running(&server.list(MACHINES).await?);
    let worker = before.iter().find(|name| name.starts_with("c-md")).context("there are no workers")?;
    let failure = json!({"metadata": {"annotations": {"simulated.firstlight.dev/node-not-ready": ""}}});
    let started = bench.clock.monotonic();
    server.send(Method::PATCH, &format!("{DEV_MACHINES}/{worker}"), MERGE, Some(&failure)).await?;
    until_replaced(&server, &before, worker).await?;
    Ok((bench.clock.monotonic() - started).as_secs_f64() - f64::from(UNHEALTHY) - STARTS)
}

async fn create(server: &Server, objects: impl IntoIterator<Item = (String, Value)>) -> Result<()> {
    for (path, object) in objects {
        server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    }
    Ok(())
}

/// Waits until the Machine `gone` does not exist any more, and as many Machines run as `before`.
async fn until_replaced(server: &Server, before: &BTreeSet<String>, gone: &str) -> Result<()> {
    let is_replaced = |machines: &Objects| {
        let now = running(machines);
        now.len() == before.len() && !now.contains(gone)
    };
    server.until(MACHINES, is_replaced).await
}

/// Returns the names of the Machines that run.
fn running(machines: &Objects) -> BTreeSet<String> {
    let running = machines.iter().filter(|(_, machine)| machine["status"]["phase"] == "Running");
    running.map(|(name, _)| name.clone()).collect()
}
