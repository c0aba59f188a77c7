//! Benchmarks of clusters of a class: time, cost, and cost at rest.

use std::time::Duration;

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::bench::{Bench, print};
use crate::clusters::wait_available;
use crate::server::Server;

/// The start-up durations of a machine: its virtual machine and its Node, in seconds.
const STARTS: u32 = 12;
const VERSION: &str = "v1.36.0";
const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";
/// The benchmark of many clusters takes minutes, so it only runs by its whole name.
const MANY: &str = "100 clusters of a class, 1+3";
const COUNT: usize = 100;
/// How long the many are observed at rest.
const AT_REST: Duration = Duration::from_secs(60);

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    let title = "cluster of a class, 3+5, 12 s for each machine";
    bench.figure(&format!("{title}: all Running"), "s", async |b| Ok(one(b).await?.0)).await?;
    bench.figure(&format!("{title}: CPU"), "s", async |b| Ok(one(b).await?.1)).await?;
    if bench.only == MANY {
        many(bench).await?;
    }
    Ok(())
}

/// Brings up one cluster. Returns its time and its processor time, in seconds.
async fn one(bench: &Bench) -> Result<(f64, f64)> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    create(&server, class()).await?;
    create(&server, [cluster("c", 3, 5)]).await?;
    wait_available(&server, "c").await?;
    wait_running(&server, 8).await?;
    Ok(((bench.clock.monotonic() - started).as_secs_f64(), server.cpu()? - cpu))
}

async fn many(bench: &Bench) -> Result<()> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    create(&server, class()).await?;
    create(&server, (0..COUNT).map(|number| cluster(&format!("c{number}"), 1, 3))).await?;
    wait_running(&server, 4 * COUNT).await?;
    for number in 0..COUNT {
        wait_available(&server, &format!("c{number}")).await?;
    }
    let seconds = (bench.clock.monotonic() - started).as_secs_f64();
    print(&format!("| {MANY}: all Running | {seconds:.1} s |"));
    print(&format!("| {MANY}: CPU of each | {:.3} s |", (server.cpu()? - cpu) / COUNT as f64));
    print(&format!("| {MANY}: memory | {:.0} MB |", server.memory()?));
    bench.clock.sleep(AT_REST).await;
    let before = server.cpu()?;
    bench.clock.sleep(AT_REST).await;
    let cores = (server.cpu()? - before) / AT_REST.as_secs_f64();
    print(&format!("| {MANY}: at rest | {cores:.4} cores |"));
    Ok(())
}

async fn wait_running(server: &Server, count: usize) -> Result<()> {
    let is_running = |machine: &&Value| machine["status"]["phase"] == "Running";
    server.until(MACHINES, |machines| machines.values().filter(is_running).count() == count).await
}

async fn create(server: &Server, objects: impl IntoIterator<Item = Value>) -> Result<()> {
    for object in objects {
        let (version, kind) = (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str());
        let plural = match kind.unwrap_or_default() {
            "ClusterClass" => "clusterclasses".to_owned(),
            kind => format!("{}s", kind.to_lowercase()),
        };
        let path = format!("/apis/{version}/namespaces/default/{plural}");
        server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    }
    Ok(())
}

fn object(group: &str, kind: &str, name: &str, spec: Value) -> Value {
    let version = format!("{group}.cluster.x-k8s.io/v1beta2");
    json!({"apiVersion": version.trim_start_matches('.'), "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn template(group: &str, kind: &str, name: &str, spec: Value) -> Value {
    object(group, kind, name, json!({"template": {"spec": spec}}))
}

/// Returns a class with a variable and a patch, and its templates.
fn class() -> Vec<Value> {
    let of = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let part = |seconds: u32| json!({"provisioning": {"startupDuration": format!("{seconds}s")}});
    let machine = json!({"backend": {"inMemory": {"vm": part(STARTS - 2), "node": part(2)}}});
    let registration = json!({"nodeRegistration": {"kubeletExtraArgs": [{"name": "eviction-hard", "value": "nodefs.available<0%"}]}});
    let variable = json!({"name": "maxPods", "required": true, "schema": {"openAPIV3Schema": {"type": "integer", "default": 110}}});
    let patch = json!({"name": "max-pods", "definitions": [{
        "selector": {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate",
            "matchResources": {"machineDeploymentClass": {"names": ["worker"]}}},
        "jsonPatches": [{"op": "add", "path": "/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs/-",
            "valueFrom": {"template": "name: max-pods\nvalue: \"{{ .maxPods }}\"\n"}}]}]});
    let mut control_plane = of("controlplane", "KubeadmControlPlaneTemplate", "control-plane");
    control_plane["machineInfrastructure"] = of("infrastructure", "DevMachineTemplate", "control-plane");
    vec![
        template(
            "infrastructure",
            "DevClusterTemplate",
            "infrastructure",
            json!({"backend": {"inMemory": {}}}),
        ),
        template("infrastructure", "DevMachineTemplate", "control-plane", machine.clone()),
        template("infrastructure", "DevMachineTemplate", "workers", machine),
        template("bootstrap", "KubeadmConfigTemplate", "workers", json!({"joinConfiguration": registration})),
        template(
            "controlplane",
            "KubeadmControlPlaneTemplate",
            "control-plane",
            json!({"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"certSANs": ["localhost"]}}}}),
        ),
        object(
            "",
            "ClusterClass",
            "small",
            json!({
                "infrastructure": of("infrastructure", "DevClusterTemplate", "infrastructure"),
                "controlPlane": control_plane,
                "workers": {"machineDeployments": [{"class": "worker",
                    "bootstrap": of("bootstrap", "KubeadmConfigTemplate", "workers"),
                    "infrastructure": of("infrastructure", "DevMachineTemplate", "workers")}]},
                "variables": [variable],
                "patches": [patch],
            }),
        ),
    ]
}

fn cluster(name: &str, control_plane: usize, workers: usize) -> Value {
    let topology = json!({
        "classRef": {"name": "small"}, "version": VERSION, "controlPlane": {"replicas": control_plane},
        "workers": {"machineDeployments": [{"class": "worker", "name": "md", "replicas": workers}]},
    });
    object("", "Cluster", name, json!({"topology": topology}))
}
