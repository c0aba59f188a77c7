//! The bootstrap data of MachinePools, and pools that never came up.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::{Kind, NamespacedName, Objects};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, MachinePool};
use serde_json::json;
use simulation::simulation::{Life, Simulation};

const EXAMPLE: &str = include_str!("../../../examples/machine-pool.yaml");
const POOL: &str = "pooled-workers";
const SECOND: &str = "
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: second, namespace: default}
spec: {preKubeadmCommands: [echo two]}
";
const LIMIT: Duration = Duration::from_secs(1800);

fn name(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn objects<K: Kind<DynamicType = ()>>(life: &Life) -> Objects<K> {
    life.manager.objects()
}

async fn until(life: &Life, missing: impl Fn(&Life) -> Vec<String>) -> Result<()> {
    let done = async {
        while !missing(life).is_empty() {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, done).await.with_context(|| missing(life).join("\n"))
}

/// What is missing until the pool has so many Nodes, and the data of this Secret.
fn missing(life: &Life, nodes: usize, secret: &str) -> Vec<String> {
    let Some(pool) = objects::<MachinePool>(life).get(&name(POOL)) else {
        return vec!["the pool".to_owned()];
    };
    let found = pool.spec.template.spec.bootstrap.data_secret_name.as_deref();
    let has = pool.status.as_ref().map_or(0, |status| status.node_refs.len());
    if (found, has) == (Some(secret), nodes) { Vec::new() } else { vec![format!("{found:?}, {has} Nodes")] }
}

async fn another_config(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let mut documents = parse("machine-pool.yaml", EXAMPLE)?;
    documents.extend(parse("second.yaml", SECOND)?);
    apply_all(&life.plane.registry, &client, &documents).await?;
    until(life, |life| missing(life, 3, POOL)).await.context("three machines")?;
    let pools = Api::<MachinePool>::namespaced(client.clone(), "default");
    let other = json!({"spec": {"template": {"spec": {"bootstrap": {"configRef": {"name": "second"}}}}}});
    pools.patch(POOL, &PatchParams::default(), &Patch::Merge(&other)).await?;
    until(life, |life| missing(life, 3, "second")).await.context("the data of the other config")?;
    let secret = objects::<Secret>(life).get(&name("second")).context("its Secret")?;
    let data = secret.data.as_ref().and_then(|data| data.get("value")).context("data")?;
    ensure!(String::from_utf8_lossy(&data.0).contains("echo two"), "the data are its own");
    // The Secret of the first config goes with it, and the pool no longer needs it.
    let configs = Api::<KubeadmConfig>::namespaced(client, "default");
    configs.delete(POOL, &DeleteParams::default()).await?;
    life.clock.sleep(Duration::from_secs(60)).await;
    ensure!(objects::<Secret>(life).get(&name("second")).is_some() && missing(life, 3, "second").is_empty());
    Ok(())
}

/// The control plane never starts, and nobody limits how long the deletion of a Node may take.
async fn never_up(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let text = EXAMPLE.replace(
        "  template:\n    spec:\n      backend:\n        inMemory: {}\n",
        "  template:\n    metadata: {annotations: {simulated.firstlight.dev/bootstrap-hangs: \"\"}}\n    spec: {backend: {inMemory: {}}}\n",
    );
    ensure!(text != EXAMPLE, "the machines of the control plane hang");
    let mut documents = parse("machine-pool.yaml", &text)?;
    for document in documents.iter_mut().filter(|document| document.object["kind"] == "MachinePool") {
        document.object["spec"]["template"]["spec"]["deletion"] = json!({"nodeDeletionTimeoutSeconds": 0});
    }
    apply_all(&life.plane.registry, &client, &documents).await?;
    life.clock.sleep(Duration::from_secs(300)).await;
    let pool = objects::<MachinePool>(life).get(&name(POOL)).context("the pool")?;
    ensure!(pool.status.as_ref().is_none_or(|status| status.node_refs.is_empty()), "it has no Nodes");
    let clusters = Api::<Cluster>::namespaced(client, "default");
    clusters.delete("pooled", &DeleteParams::default()).await?;
    until(life, |life| {
        let left = objects::<Cluster>(life).all().len() + objects::<MachinePool>(life).all().len();
        if left == 0 { Vec::new() } else { vec![format!("{left} objects are left")] }
    })
    .await
    .context("the deletion")
}

#[test]
fn a_pool_gets_the_data_of_another_config() {
    Simulation::new(44).live(async |life, _| another_config(life).await).expect("seed 44");
}

#[test]
fn a_pool_that_never_came_up_can_be_deleted() {
    Simulation::new(45).live(async |life, _| never_up(life).await).expect("seed 45");
}
