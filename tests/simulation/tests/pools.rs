//! A cluster whose workers are a MachinePool.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::{Kind, NamespacedName, Objects, owners};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

const EXAMPLE: &str = include_str!("../../../examples/machine-pool.yaml");
const POOL: &str = "pooled-workers";
const LIMIT: Duration = Duration::from_secs(1800);

fn name(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn objects<K: Kind<DynamicType = ()>>(life: &Life) -> Objects<K> {
    life.manager.objects()
}

fn pool(life: &Life) -> Option<Value> {
    serde_json::to_value(objects::<MachinePool>(life).get(&name(POOL))?.as_ref()).ok()
}

/// What is missing until the pool has this number of machines of this version, and each of them its Node.
fn missing(life: &Life, replicas: usize, version: &str) -> Vec<String> {
    let Some(pool) = pool(life) else { return vec!["the MachinePool".to_owned()] };
    let status = &pool["status"];
    let mut missing = Vec::new();
    for field in ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"] {
        if status[field] != replicas {
            missing.push(format!("status.{field}: {}", status[field]));
        }
    }
    let lists = [&status["nodeRefs"], &pool["spec"]["providerIDList"]];
    if lists.iter().any(|list| list.as_array().map_or(0, Vec::len) != replicas)
        || status["phase"] != "Running"
    {
        missing.push(format!("lists and phase: {pool}"));
    }
    if status["versions"] != json!([{"version": version, "replicas": replicas}]) {
        missing.push(format!("status.versions: {}", status["versions"]));
    }
    let owned =
        |machine: &Machine| owners::controller(machine).is_some_and(|owner| owner.kind == "MachinePool");
    let machines = objects::<Machine>(life).all().iter().filter(|machine| owned(machine)).count();
    let devs = objects::<DevMachine>(life).all().len();
    if (machines, devs) != (replicas, replicas + 1) {
        missing.push(format!("{machines} Machines, {devs} DevMachines"));
    }
    let annotated = objects::<DevMachine>(life).all();
    let ours = |name: &String| name.contains("firstlight.dev/");
    let annotated =
        annotated.iter().filter(|dev| dev.metadata.annotations.iter().flatten().any(|(name, _)| ours(name)));
    missing
        .extend(annotated.map(|dev| format!("DevMachine {:?} has an annotation of ours", dev.metadata.name)));
    let cluster = objects::<Cluster>(life).get(&name("pooled"));
    if !cluster.as_ref().is_some_and(|cluster| cluster.condition_is_true("Available")) {
        missing.push(format!(
            "the Cluster is not Available: {:?}",
            cluster.map(|cluster| cluster.status.clone())
        ));
    }
    missing
}

async fn until(life: &Life, missing: impl Fn(&Life) -> Vec<String>) -> Result<()> {
    let done = async {
        while !missing(life).is_empty() {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, done).await.with_context(|| missing(life).join("\n"))
}

async fn change(life: &Life, patch: Value) -> Result<()> {
    let pools = Api::<MachinePool>::namespaced(life.plane.client("user"), "default");
    pools.patch(POOL, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Returns the names of the Nodes in the workload cluster, but for the control plane's.
async fn workers(life: &Life) -> Result<BTreeSet<String>> {
    let workload = life.manager.clusters().get(&name("pooled"))?;
    let selector = ListParams::default().labels("!node-role.kubernetes.io/control-plane");
    let nodes = Api::<Node>::all(workload.client().clone()).list(&selector).await?;
    Ok(nodes.items.into_iter().filter_map(|node| node.metadata.name).collect())
}

async fn live(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    apply_all(&life.plane.registry, &client, &parse("machine-pool.yaml", EXAMPLE)?).await?;
    until(life, |life| missing(life, 3, "v1.35.0")).await.context("three machines")?;
    let first = workers(life).await?;
    change(life, json!({"spec": {"replicas": 5}})).await?;
    until(life, |life| missing(life, 5, "v1.35.0")).await.context("five machines")?;
    ensure!(workers(life).await?.is_superset(&first), "no machine was replaced");
    change(life, json!({"spec": {"template": {"spec": {"version": "v1.36.0"}}}})).await?;
    until(life, |life| missing(life, 5, "v1.36.0")).await.context("another version")?;
    ensure!(workers(life).await?.is_disjoint(&first), "each machine was replaced");
    change(life, json!({"spec": {"replicas": 1}})).await?;
    until(life, |life| missing(life, 1, "v1.36.0")).await.context("one machine")?;
    ensure!(workers(life).await?.len() == 1, "the Nodes go with their machines");
    let clusters = Api::<Cluster>::namespaced(client, "default");
    clusters.delete("pooled", &DeleteParams::default()).await?;
    until(life, left).await.context("the deletion")
}

fn left(life: &Life) -> Vec<String> {
    fn names<K: Kind<DynamicType = ()>>(life: &Life) -> Vec<String> {
        let kind = K::kind(&());
        objects::<K>(life)
            .all()
            .iter()
            .map(|it| format!("{kind} {}", NamespacedName::of(it.as_ref())))
            .collect()
    }
    let machines = [names::<Machine>(life), names::<DevMachine>(life), names::<KubeadmConfig>(life)];
    let pools = [names::<MachinePool>(life), names::<DevMachinePool>(life), names::<Cluster>(life)];
    machines.into_iter().chain(pools).flatten().collect()
}

#[test]
fn a_pool_comes_up_is_scaled_and_upgraded_and_goes_with_its_cluster() {
    Simulation::new(5).live(async |life, _| live(life).await).expect("seed 5");
}

async fn live_without_a_backend(life: &Life) -> Result<()> {
    let mut documents = parse("machine-pool.yaml", EXAMPLE)?;
    for document in &mut documents {
        if document.object["kind"] == "DevMachinePool" {
            document.object["spec"]["backend"] = json!({});
        }
    }
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 3, "v1.35.0")).await.context("three machines")
}

/// Upstream's type of the pool has no such backend, so programs that use it lose it.
#[test]
fn a_pool_without_a_backend_in_a_simulated_cluster_has_simulated_machines() {
    Simulation::new(6).live(async |life, _| live_without_a_backend(life).await).expect("seed 6");
}
