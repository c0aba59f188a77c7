//! How long Metal3Machines take to choose their hosts among many.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::server::{Objects, Server};

/// The number of machines that want a host at the same moment.
const MACHINES: usize = 100;
const CLIENTS: usize = 16;
const CORE: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default";
const METAL3: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default";
const HOSTS: &str = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts";
const CLUSTER: &str = "cluster";

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    for hosts in [500, 5_000] {
        let name = format!("{MACHINES} machines choose among {hosts} hosts");
        bench.figure(&name, "s", async |b| Ok(chosen(b, hosts).await?.wall)).await?;
        bench.figure(&format!("{name}: CPU"), "s", async |b| Ok(chosen(b, hosts).await?.cpu)).await?;
    }
    Ok(())
}

/// What the choice of all machines took, in seconds.
struct Cost {
    wall: f64,
    cpu: f64,
}

/// The machines are created while their Cluster is paused, and choose when it is resumed.
async fn chosen(bench: &Bench, hosts: usize) -> Result<Cost> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    for (path, object) in cluster() {
        create(&server, &path, &object).await?;
    }
    server
        .until_object(&format!("{CORE}/clusters"), CLUSTER, |found| {
            found["status"]["initialization"]["infrastructureProvisioned"] == true
        })
        .await?;
    pause(&server, true).await?;
    let all: Vec<Value> = (0..hosts).map(host).collect();
    concurrently(&all, async |host| create(&server, HOSTS, host).await).await?;
    let numbers: Vec<usize> = (0..MACHINES).collect();
    concurrently(&numbers, async |number| machine(&server, *number).await).await?;
    let is_available = |host: &Value| host["status"]["provisioning"]["state"] == "available";
    server.until_object(HOSTS, &host_name(hosts - 1), is_available).await?;
    // What the creations cause has ended when no processor time is used any more.
    let mut before = server.cpu()?;
    loop {
        bench.clock.sleep(Duration::from_millis(500)).await;
        let now = server.cpu()?;
        if now - before < 0.02 {
            break;
        }
        before = now;
    }
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    pause(&server, false).await?;
    let machines = format!("{METAL3}/metal3machines");
    server.until(&machines, |machines| hosts_of(machines).len() == MACHINES).await?;
    let wall = (bench.clock.monotonic() - started).as_secs_f64();
    let cost = Cost { wall, cpu: server.cpu()? - cpu };
    let used = hosts_of(&server.list(&machines).await?);
    let different: BTreeSet<&str> = used.iter().map(String::as_str).collect();
    ensure!(different.len() == MACHINES, "{MACHINES} machines have {} hosts", different.len());
    Ok(cost)
}

/// Returns the host of each Metal3Machine that has one.
fn hosts_of(machines: &Objects) -> Vec<String> {
    let host = |machine: &Value| machine["metadata"]["annotations"]["metal3.io/BareMetalHost"].clone();
    machines.values().filter_map(|machine| host(machine).as_str().map(str::to_owned)).collect()
}

async fn concurrently<T>(items: &[T], act: impl AsyncFn(&T) -> Result<()>) -> Result<()> {
    let act = &act;
    stream::iter(items)
        .map(|item| async move { act(item).await })
        .buffer_unordered(CLIENTS)
        .try_for_each(|()| async { Ok(()) })
        .await
}

async fn create(server: &Server, path: &str, object: &Value) -> Result<()> {
    server.send(Method::POST, path, "application/json", Some(object)).await.map(drop)
}

async fn pause(server: &Server, paused: bool) -> Result<()> {
    let (path, patch) = (format!("{CORE}/clusters/{CLUSTER}"), json!({"spec": {"paused": paused}}));
    server.send(Method::PATCH, &path, "application/merge-patch+json", Some(&patch)).await.map(drop)
}

fn cluster() -> [(String, Value); 2] {
    let metadata = json!({"name": CLUSTER, "namespace": "default"});
    let group = "infrastructure.cluster.x-k8s.io";
    let reference = json!({"apiGroup": group, "kind": "Metal3Cluster", "name": CLUSTER});
    [
        (
            format!("{METAL3}/metal3clusters"),
            json!({"apiVersion": format!("{group}/v1beta2"), "kind": "Metal3Cluster", "metadata": metadata,
                "spec": {"controlPlaneEndpoint": {"host": "127.0.0.1", "port": 9}}}),
        ),
        (
            format!("{CORE}/clusters"),
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
                "spec": {"infrastructureRef": reference}}),
        ),
    ]
}

fn host_name(number: usize) -> String {
    format!("host-{number:05}")
}

/// Returns a host without a BMC that is available; every fourth is in another rack.
fn host(number: usize) -> Value {
    let status = json!({
        "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": false,
        "provisioning": {"state": "available", "ID": format!("id-{number}"), "image": {"url": ""}},
        "hardware": {"cpu": {"arch": "x86_64", "count": 8}, "ramMebibytes": 65_536, "hostname": host_name(number),
            "nics": [{"name": "eth0", "mac": mac(number), "ip": "10.0.0.9"}],
            "storage": [{"name": "/dev/sda", "sizeBytes": 500_000_000_000_u64}]},
    });
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": host_name(number), "namespace": "default",
            "labels": {"rack": format!("rack-{}", number % 4)},
            "annotations": {"baremetalhost.metal3.io/status": status.to_string()},
        },
        "spec": {"online": false, "bootMACAddress": mac(number)},
    })
}

fn mac(number: usize) -> String {
    format!("52:54:00:00:{:02x}:{:02x}", number >> 8, number & 0xff)
}

/// Creates a Machine and its Metal3Machine, which wants a host of three of the four racks.
async fn machine(server: &Server, number: usize) -> Result<()> {
    let group = "infrastructure.cluster.x-k8s.io";
    let labels = json!({"cluster.x-k8s.io/cluster-name": CLUSTER});
    let metadata = json!({"name": format!("m-{number}"), "namespace": "default", "labels": labels});
    let reference = json!({"apiGroup": group, "kind": "Metal3Machine", "name": format!("m-{number}")});
    let object = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata, "spec": {
        "clusterName": CLUSTER, "bootstrap": {"dataSecretName": "data"}, "infrastructureRef": reference}});
    let path = format!("{CORE}/machines");
    let created = server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    let mut metadata = metadata;
    metadata["ownerReferences"] = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "name": format!("m-{number}"), "uid": created["metadata"]["uid"], "controller": true}]);
    let racks = json!([{"key": "rack", "operator": "in", "values": ["rack-1", "rack-2", "rack-3"]}]);
    let object = json!({"apiVersion": format!("{group}/v1beta2"), "kind": "Metal3Machine", "metadata": metadata, "spec": {
        "image": {"url": "http://10.0.0.1/image.raw", "checksum": "0".repeat(64), "checksumType": "sha256", "diskFormat": "raw"},
        "hostSelector": {"matchExpressions": racks}}});
    create(server, &format!("{METAL3}/metal3machines"), &object).await
}
