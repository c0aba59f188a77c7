//! CPU time of the server per request in an older version, as a multiple of the same in the stored version.

use anyhow::Result;
use futures::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::server::Server;

const OBJECTS: usize = 5_000;
const CLIENTS: usize = 16;
/// How often each object is read after it was read once.
const READS: usize = 10;

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    let names = ["GET", "first GET after a change", "status patch"];
    for (index, name) in names.iter().enumerate() {
        let name = format!("server CPU per {name} in v1beta1, beside v1beta2");
        bench.figure(&name, "×", async |b| round(b, index).await).await?;
    }
    Ok(())
}

async fn round(bench: &Bench, wanted: usize) -> Result<f64> {
    let server = Server::start(&bench.binary, &["--controllers", "none"], &bench.clock).await?;
    let machines = path("v1beta2", "");
    for_all(1, &async |n| {
        server.send(Method::POST, &machines, "application/json", Some(&machine(n))).await?;
        patch(&server, "v1beta2", n, &status(n)).await
    })
    .await?;
    let mut cpu = [[0.0; 2]; 3];
    for (index, version) in ["v1beta2", "v1beta1"].into_iter().enumerate() {
        let get = async |n| {
            server.send(Method::GET, &path(version, &format!("/machine-{n:06}")), "", None).await.map(drop)
        };
        let before = server.cpu()?;
        for_all(1, &get).await?;
        cpu[1][index] = server.cpu()? - before;
        let before = server.cpu()?;
        for_all(READS, &get).await?;
        cpu[0][index] = (server.cpu()? - before) / READS as f64;
        let before = server.cpu()?;
        let phase = json!({"status": {"lastUpdated": format!("2026-01-01T00:00:0{index}Z")}});
        for_all(1, &async |n| patch(&server, version, n, &phase).await).await?;
        cpu[2][index] = server.cpu()? - before;
    }
    let [stored, older] = cpu.get(wanted).copied().unwrap_or_default();
    Ok(older / stored)
}

/// Calls `request` for each object, this often.
async fn for_all(times: usize, request: &impl AsyncFn(usize) -> Result<()>) -> Result<()> {
    let requests = (0..OBJECTS * times).map(|n| async move { request(n % OBJECTS).await });
    stream::iter(requests).buffer_unordered(CLIENTS).try_for_each(|()| async { Ok(()) }).await
}

async fn patch(server: &Server, version: &str, number: usize, patch: &Value) -> Result<()> {
    let path = path(version, &format!("/machine-{number:06}/status"));
    server.send(Method::PATCH, &path, "application/merge-patch+json", Some(patch)).await.map(drop)
}

fn path(version: &str, rest: &str) -> String {
    format!("/apis/cluster.x-k8s.io/{version}/namespaces/default/machines{rest}")
}

fn machine(number: usize) -> Value {
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": format!("machine-{number:06}")});
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": format!("machine-{number:06}")},
        "spec": {
            "clusterName": "bench", "version": "v1.36.0", "providerID": format!("dev:////machine-{number:06}"),
            "bootstrap": {"configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), "dataSecretName": "data"},
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "DevMachine"),
            "deletion": {"nodeDrainTimeoutSeconds": 300},
        },
    })
}

/// Returns the status of a Machine at rest, with the conditions of both versions.
fn status(number: usize) -> Value {
    let newer = |name: &&str| json!({"type": name, "status": "True", "reason": name, "message": "", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let older =
        |name: &&str| json!({"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let conditions = [
        "Available",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "NodeHealthy",
        "NodeReady",
        "Ready",
        "UpToDate",
    ];
    let newer: Value = conditions.iter().map(newer).collect();
    let older: Value =
        ["BootstrapReady", "InfrastructureReady", "NodeHealthy", "Ready"].iter().map(older).collect();
    json!({"status": {
        "phase": "Running", "nodeRef": {"name": format!("machine-{number:06}")},
        "initialization": {"bootstrapDataSecretCreated": true, "infrastructureProvisioned": true},
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "conditions": newer,
        "deprecated": {"v1beta1": {"conditions": older}},
    }})
}
