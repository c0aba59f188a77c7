//! A worker whose Pod a PodDisruptionBudget protects.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use engine::object::{is_deleting, label};
use firstlight::manifests::apply::apply_all;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use serde_json::{Value, json};
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

const LIMIT: Duration = Duration::from_secs(1800);
/// Longer than any retry of a drain.
const LONG: Duration = Duration::from_secs(1200);

fn cluster_name() -> NamespacedName {
    NamespacedName::new("default", "first")
}

/// Returns the names of the workers, and whether each is being deleted.
fn workers(life: &Life) -> Vec<(String, bool)> {
    let all = life.manager.objects::<Machine>().by_cluster(&cluster_name());
    let workers =
        all.iter().filter(|machine| label(machine.as_ref(), engine::names::CONTROL_PLANE).is_none());
    workers
        .map(|machine| (machine.metadata.name.clone().unwrap_or_default(), is_deleting(machine.as_ref())))
        .collect()
}

/// Waits until this number of workers is there, all of them well, and the Machine `gone` is not.
async fn until_whole(life: &Life, count: usize, gone: &str) -> Result<()> {
    let whole = || {
        let found = workers(life);
        let cluster = life.manager.objects::<Cluster>().get(&cluster_name());
        cluster.is_some_and(|cluster| cluster.condition_is_true("Available"))
            && found.len() == count
            && !found.iter().any(|(name, going)| *going || name == gone)
    };
    let waiting = async {
        while !whole() {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting)
        .await
        .with_context(|| format!("{count} workers: {:?}", workers(life)))
}

async fn create<K>(client: &Client, object: Value) -> Result<()>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + serde::Serialize
        + Clone
        + std::fmt::Debug,
{
    let api = Api::<K>::namespaced(client.clone(), "default");
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

/// A Pod of the budget's application on this Node.
fn pod(name: &str, node: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": "db"}},
        "spec": {"nodeName": node, "containers": [{"name": "db", "image": "db"}]},
    })
}

/// Reports that a Pod is ready, which a kubelet would do.
async fn is_ready(client: &Client, name: &str) -> Result<()> {
    let pods = Api::<Pod>::namespaced(client.clone(), "default");
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status(name, &Default::default(), &kube::api::Patch::Merge(status)).await?;
    Ok(())
}

async fn live(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let shape = Shape { control_plane: 1, workers: 2, version: "v1.36.0" };
    apply_all(&life.plane.registry, &client, &cluster(shape)?).await?;
    until_whole(life, 2, "").await?;
    let names: Vec<String> = workers(life).into_iter().map(|(name, _)| name).collect();
    let (going, staying) = (names[0].as_str(), names[1].as_str());
    let workload = life.manager.clusters().get(&cluster_name())?.client().clone();
    create::<Pod>(&workload, pod("db-0", going)).await?;
    is_ready(&workload, "db-0").await?;
    let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}});
    create::<PodDisruptionBudget>(&workload, json!({"metadata": {"name": "db"}, "spec": spec})).await?;

    Api::<Machine>::namespaced(client, "default").delete(going, &DeleteParams::default()).await?;
    life.clock.sleep(LONG).await;
    let machine = life.manager.objects::<Machine>().get(&NamespacedName::new("default", going));
    let machine = machine.context("the Machine is gone, although its Pod may not be evicted")?;
    let deleting =
        machine.condition("Deleting").map(|condition| condition.message.clone()).unwrap_or_default();
    ensure!(deleting.contains("db-0"), "it does not say which Pod it waits for: {deleting}");
    let pods = Api::<Pod>::namespaced(workload.clone(), "default");
    pods.get("db-0").await.context("the Pod was evicted against its budget")?;
    let node = Api::<Node>::all(workload.clone()).get(going).await?;
    ensure!(node.spec.and_then(|spec| spec.unschedulable) == Some(true), "the Node is cordoned");

    create::<Pod>(&workload, pod("db-1", staying)).await?;
    is_ready(&workload, "db-1").await?;
    until_whole(life, 2, going).await?;
    ensure!(pods.get_opt("db-0").await?.is_none(), "the Pod was evicted");
    pods.get("db-1").await.context("the Pod of the other Node stays")?;
    Ok(())
}

#[test]
fn a_drain_waits_until_the_budget_allows_it() {
    Simulation::new(19).live(async |life, _| live(life).await).expect("seed 19");
}
