//! Benchmarks of whole clusters: time until Available, and its cost.

use anyhow::Result;
use futures::future::try_join_all;
use http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::objects::cluster;
use crate::server::Server;

/// The version of new clusters.
pub const OLD: &str = "v1.35.0";
/// The version to which they are upgraded.
pub const NEW: &str = "v1.36.0";
/// The type of a merge patch.
pub const MERGE: &str = "application/merge-patch+json";
/// Simulated start-up durations of an upgrade: one control plane machine (10 + 2 + 2), then three workers one
/// after the other (10 + 2 each), with a surge of one.
const UPGRADE_DURATIONS: f64 = 14.0 + 3.0 * 12.0;

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    bench
        .figure("cluster 1+3, 10+2+2+2 s: Available", "s", async |b| available(b, 1, true, Wall).await)
        .await?;
    bench
        .figure("cluster 1+3, zero durations: Available", "s", async |b| available(b, 1, false, Wall).await)
        .await?;
    bench.figure("cluster 1+3, 10+2+2+2 s: CPU", "s", async |b| available(b, 1, true, Cpu).await).await?;
    bench.figure("10 clusters: Available", "s", async |b| available(b, 10, true, Wall).await).await?;
    bench.figure("10 clusters: CPU per cluster", "s", async |b| available(b, 10, true, Cpu).await).await?;
    bench.figure("10 clusters: memory", "MB", async |b| available(b, 10, true, Memory).await).await?;
    bench.figure("upgrade 1+3 by a minor version, × the durations alone", "×", upgrade).await?;
    Ok(())
}

#[derive(Clone, Copy)]
enum What {
    Wall,
    Cpu,
    Memory,
}
use What::{Cpu, Memory, Wall};

async fn available(bench: &Bench, count: usize, slow: bool, what: What) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    let names: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
    try_join_all(names.iter().map(|name| create(&server, name, slow))).await?;
    try_join_all(names.iter().map(|name| wait_available(&server, name))).await?;
    Ok(match what {
        Wall => (bench.clock.monotonic() - started).as_secs_f64(),
        Cpu => (server.cpu()? - cpu) / count as f64,
        Memory => server.memory()?,
    })
}

/// Creates a cluster of this many control plane machines and workers, and waits until every Machine has its Node.
///
/// # Errors
/// Fails if that takes too long.
pub async fn bring_up(server: &Server, name: &str, (control_plane, workers): (i64, i64)) -> Result<()> {
    for (path, object) in cluster(name, control_plane, workers, OLD, false) {
        server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    }
    wait_available(server, name).await?;
    let has_node = |machine: &Value| machine["status"]["nodeRef"]["name"].is_string();
    server
        .until("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines", |machines| {
            machines.len() as i64 == control_plane + workers && machines.values().all(has_node)
        })
        .await
}

async fn create(server: &Server, name: &str, slow: bool) -> Result<()> {
    for (path, object) in cluster(name, 1, 3, OLD, slow) {
        server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    }
    Ok(())
}

/// Waits until a Cluster is Available.
///
/// # Errors
/// Fails if that takes too long.
pub async fn wait_available(server: &Server, name: &str) -> Result<()> {
    server
        .until_object("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters", name, |cluster| {
            let conditions = cluster["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|c| c["type"] == "Available" && c["status"] == "True")
        })
        .await
}

async fn upgrade(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    create(&server, "c", true).await?;
    wait_available(&server, "c").await?;
    let control_planes =
        "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmcontrolplanes";
    let deployments = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments";
    let started = bench.clock.monotonic();
    let done = |replicas: i64| {
        move |object: &Value| {
            let status = &object["status"];
            let all = ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"]
                .iter()
                .all(|field| status[*field] == replicas);
            all && status["observedGeneration"] == object["metadata"]["generation"]
        }
    };
    let upgrade = json!({"spec": {"version": NEW}});
    server.send(Method::PATCH, &format!("{control_planes}/c-cp"), MERGE, Some(&upgrade)).await?;
    server.until_object(control_planes, "c-cp", done(1)).await?;
    let upgrade = json!({"spec": {"template": {"spec": {"version": NEW}}}});
    server.send(Method::PATCH, &format!("{deployments}/c-md"), MERGE, Some(&upgrade)).await?;
    server.until_object(deployments, "c-md", done(3)).await?;
    Ok((bench.clock.monotonic() - started).as_secs_f64() / UPGRADE_DURATIONS)
}
