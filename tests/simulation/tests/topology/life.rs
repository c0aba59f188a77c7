//! The life of a Cluster of a class.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::names::{CONTROL_PLANE, TOPOLOGY_OWNED};
use engine::object::{label, uid};
use engine::{Kind, NamespacedName, Objects};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfigTemplate;
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use schemas::controlplane::KubeadmControlPlane;
use schemas::infrastructure::{DevCluster, DevMachine, DevMachineTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

pub const CLASS: &str = include_str!("../../data/topology/class.yaml");
pub const CLUSTER: &str = include_str!("../../data/topology/cluster.yaml");
const LIMIT: Duration = Duration::from_secs(3600);

pub fn name(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

pub fn objects<K: Kind<DynamicType = ()>>(life: &Life) -> Objects<K> {
    life.manager.objects()
}

fn cluster(life: &Life) -> Option<std::sync::Arc<Cluster>> {
    objects::<Cluster>(life).get(&name("demo"))
}

/// Returns the names of the worker Machines.
pub fn workers(life: &Life) -> BTreeSet<String> {
    let machines = objects::<Machine>(life).all();
    let workers = machines.iter().filter(|machine| label(machine.as_ref(), CONTROL_PLANE).is_none());
    workers.filter_map(|machine| machine.metadata.name.clone()).collect()
}

/// What is missing until the Cluster is as its topology wants it.
pub fn missing(life: &Life, workers: usize, version: &str) -> Vec<String> {
    let Some(cluster) = cluster(life) else { return vec!["the Cluster".to_owned()] };
    let mut missing = Vec::new();
    for condition in ["Available", "TopologyReconciled"] {
        let found = cluster.condition(condition);
        if !found.is_some_and(|found| {
            found.status == "True" && found.observed_generation == cluster.metadata.generation
        }) {
            missing.push(format!("{condition}: {found:?}"));
        }
    }
    let machines = objects::<Machine>(life).all();
    if machines.len() != workers + 1 {
        missing.push(format!("{} Machines, wants {}", machines.len(), workers + 1));
    }
    for machine in machines {
        if machine.spec.version.as_deref() != Some(version) || !machine.condition_is_true("Available") {
            missing.push(format!("Machine {:?}: {:?}", machine.metadata.name, machine.spec.version));
        }
    }
    let old = objects::<MachineSet>(life).all().into_iter().filter(|set| set.spec.replicas == Some(0));
    missing.extend(
        old.filter(|set| set.status.as_ref().and_then(|status| status.replicas) != Some(0))
            .map(|set| format!("MachineSet {:?} still has Machines", set.metadata.name)),
    );
    missing
}

pub async fn until(life: &Life, missing: impl Fn(&Life) -> Vec<String>) -> Result<()> {
    let done = async {
        while !missing(life).is_empty() {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, done).await.with_context(|| missing(life).join("\n"))
}

/// Fills the caches of kinds that no controller reads as this test does.
pub async fn open(life: &Life) {
    objects::<DevMachineTemplate>(life).wait_until_synced().await;
    objects::<KubeadmConfigTemplate>(life).wait_until_synced().await;
    objects::<DevMachine>(life).wait_until_synced().await;
}

/// Creates the class and the Cluster.
pub async fn create(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    Ok(())
}

/// Sets the value at a JSON pointer in the spec of an object.
pub async fn set<K>(life: &Life, object: &str, path: &str, value: Value) -> Result<()>
where
    K: Kind<DynamicType = ()>
        + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned,
{
    let api = Api::<K>::namespaced(life.plane.client("user"), "default");
    let current = serde_json::to_value(api.get(object).await?)?;
    let mut spec = current["spec"].clone();
    let (parent, field) = path.rsplit_once('/').context("a path")?;
    let parent = spec.pointer_mut(parent).with_context(|| parent.to_owned())?;
    parent[field] = value;
    api.patch(object, &PatchParams::default(), &Patch::Merge(json!({"spec": spec}))).await?;
    Ok(())
}

/// Sets the value at a JSON pointer in the topology of the Cluster.
pub async fn change(life: &Life, path: &str, value: Value) -> Result<()> {
    set::<Cluster>(life, "demo", &format!("/topology{path}"), value).await
}

/// Deletes the Cluster, and waits until nothing is left of it but the class.
pub async fn delete(life: &Life) -> Result<()> {
    let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
    clusters.delete("demo", &DeleteParams::default()).await?;
    until(life, left).await.context("the deletion")
}

/// What is left of a Cluster.
pub fn left(life: &Life) -> Vec<String> {
    fn names<K: Kind<DynamicType = ()>>(life: &Life, is_left: impl Fn(&K) -> bool) -> Vec<String> {
        let all = objects::<K>(life).all();
        let left = all.iter().filter(|object| is_left(object.as_ref()));
        left.map(|object| format!("{} {}", K::kind(&()), NamespacedName::of(object.as_ref()))).collect()
    }
    fn owned<K: Kind>(object: &K) -> bool {
        label(object, TOPOLOGY_OWNED).is_some()
    }
    let mut left = names::<Cluster>(life, |_| true);
    left.extend(names::<Machine>(life, |_| true));
    left.extend(names::<MachineDeployment>(life, |_| true));
    left.extend(names::<MachineSet>(life, |_| true));
    left.extend(names::<MachineHealthCheck>(life, |_| true));
    left.extend(names::<KubeadmControlPlane>(life, |_| true));
    left.extend(names::<DevCluster>(life, |_| true));
    left.extend(names::<DevMachine>(life, |_| true));
    left.extend(names::<DevMachineTemplate>(life, owned));
    left.extend(names::<KubeadmConfigTemplate>(life, owned));
    left
}

/// The templates of the Cluster, by kind and name.
fn templates(life: &Life) -> (BTreeSet<String>, BTreeSet<String>) {
    fn names<K: Kind<DynamicType = ()>>(life: &Life) -> BTreeSet<String> {
        let all = objects::<K>(life).all();
        let owned = all.iter().filter(|object| label(object.as_ref(), TOPOLOGY_OWNED).is_some());
        owned.filter_map(|object| object.meta().name.clone()).collect()
    }
    (names::<DevMachineTemplate>(life), names::<KubeadmConfigTemplate>(life))
}

/// Each template is used: one of the control plane's machines, and two of each MachineDeployment.
fn check_templates(life: &Life) -> Result<()> {
    let (machines, bootstrap) = templates(life);
    ensure!(machines.len() == 2 && bootstrap.len() == 1, "{machines:?} {bootstrap:?}");
    Ok(())
}

fn check_objects(life: &Life) -> Result<()> {
    let cluster = cluster(life).context("the Cluster")?;
    ensure!(label(cluster.as_ref(), TOPOLOGY_OWNED) == Some(""), "the Cluster has the labels");
    let class = objects::<ClusterClass>(life).get(&name("small")).context("the class")?;
    ensure!(class.condition_is_true("RefVersionsUpToDate") && class.condition_is_true("VariablesReady"));
    let planes = objects::<KubeadmControlPlane>(life).all();
    let plane = planes.first().context("the control plane")?;
    let owners = plane.metadata.owner_references.clone().unwrap_or_default();
    ensure!(owners.len() == 1 && owners[0].uid == uid(cluster.as_ref()), "the shim is gone: {owners:?}");
    ensure!(objects::<Secret>(life).get(&name("demo-shim")).is_none(), "the shim is deleted");
    let deployments = objects::<MachineDeployment>(life).all();
    let checks = objects::<MachineHealthCheck>(life).all();
    let mut names: Vec<_> = checks.iter().map(|check| check.metadata.name.clone()).collect();
    names.sort();
    let mut expected = vec![plane.metadata.name.clone(), deployments[0].metadata.name.clone()];
    expected.sort();
    ensure!(names == expected, "health checks have the names of what they check: {names:?}");
    check_templates(life)
}

async fn live(life: &Life) -> Result<()> {
    create(life).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
    check_objects(life)?;
    let first = workers(life);
    change(life, "/workers/machineDeployments/0/replicas", json!(3)).await?;
    until(life, |life| missing(life, 3, "v1.34.0")).await.context("scaled")?;
    ensure!(workers(life).is_superset(&first), "no Machine was replaced");

    let labels = json!({"labels": {"node.cluster.x-k8s.io/team": "blue"}});
    let before = (workers(life), templates(life));
    change(life, "/workers/machineDeployments/0/metadata", labels).await?;
    let is_blue = |machine: &Machine| label(machine, "node.cluster.x-k8s.io/team") == Some("blue");
    until(life, |life| {
        let machines = objects::<Machine>(life).all();
        let blue = machines.iter().filter(|machine| is_blue(machine)).count();
        if blue == 3 { missing(life, 3, "v1.34.0") } else { vec![format!("{blue} blue Machines")] }
    })
    .await
    .context("labelled")?;
    ensure!(before == (workers(life), templates(life)), "labels change in place");

    change(life, "/variables/0/value", json!(64)).await?;
    until(life, |life| {
        let same = workers(life).intersection(&before.0).count();
        if same == 0 { missing(life, 3, "v1.34.0") } else { vec![format!("{same} old Machines")] }
    })
    .await
    .context("a variable")?;
    until(life, |life| check_templates(life).err().map(|error| error.to_string()).into_iter().collect())
        .await
        .context("the old template is deleted with the old MachineSet")?;
    let template = objects::<KubeadmConfigTemplate>(life);
    let template =
        template.all().into_iter().find(|template| label(template.as_ref(), TOPOLOGY_OWNED).is_some());
    let text = serde_json::to_string(template.context("the template")?.as_ref())?;
    ensure!(text.contains(r#"{"name":"max-pods","value":"64"}"#), "{text}");

    change(life, "/version", json!("v1.36.0")).await?;
    until(life, |life| missing(life, 3, "v1.36.0")).await.context("upgraded over two minor versions")?;
    let status = cluster(life).and_then(|cluster| cluster.status.clone()).context("the status")?;
    let plans = [status.control_plane, status.workers].map(|part| part.unwrap_or_default().upgrade_plan);
    ensure!(plans == [Vec::new(), Vec::new()], "nothing is left to upgrade: {plans:?}");
    delete(life).await?;
    ensure!(objects::<ClusterClass>(life).get(&name("small")).is_some(), "the class stays");
    Ok(())
}

#[test]
fn a_cluster_of_a_class_is_scaled_changed_upgraded_and_deleted() {
    Simulation::new(7).live(async |life, _| live(life).await).expect("seed 7");
}
