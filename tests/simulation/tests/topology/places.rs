//! Clusters with MachinePools, and of a class in another namespace.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use schemas::HasConditions;
use schemas::cluster::{Cluster, ClusterClass, MachinePool};
use schemas::infrastructure::DevMachinePool;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

use super::life::{CLASS, CLUSTER, change, delete, missing, name, objects, open, until, workers};

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: classes}\n";
const POOL_TEMPLATE: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePoolTemplate
metadata: {name: pool}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: 2s}}
          node: {provisioning: {startupDuration: 1s}}
";

fn set(documents: &mut [Document], kind: &str, pointer: &str, value: Value) -> Result<()> {
    let found = documents.iter_mut().find(|document| document.object["kind"] == kind);
    let found = found.and_then(|document| document.object.pointer_mut(pointer));
    *found.with_context(|| format!("{kind} {pointer}"))? = value;
    Ok(())
}

/// Adds a field to the value at a JSON pointer of the first manifest of this kind.
pub fn add(documents: &mut [Document], kind: &str, pointer: &str, field: &str, value: Value) -> Result<()> {
    let found = documents.iter_mut().find(|document| document.object["kind"] == kind);
    let found = found.and_then(|document| document.object.pointer_mut(pointer)?.as_object_mut());
    found.with_context(|| format!("{kind} {pointer}"))?.insert(field.to_owned(), value);
    Ok(())
}

/// Removes a field of the value at a JSON pointer of the first manifest of this kind.
pub fn remove(documents: &mut [Document], kind: &str, pointer: &str, field: &str) -> Result<()> {
    let found = documents.iter_mut().find(|document| document.object["kind"] == kind);
    let found = found.and_then(|document| document.object.pointer_mut(pointer)?.as_object_mut());
    found.with_context(|| format!("{kind} {pointer}"))?.remove(field);
    Ok(())
}

async fn of_another_namespace(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    for document in &mut documents {
        document.object["metadata"]["namespace"] = "classes".into();
    }
    documents.splice(0..0, parse("namespace.yaml", NAMESPACE)?);
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    let class = json!({"name": "small", "namespace": "classes"});
    set(&mut documents, "Cluster", "/spec/topology/classRef", class)?;
    // The variable has the default of the class.
    remove(&mut documents, "Cluster", "/spec/topology", "variables")?;
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
    delete(life).await?;
    let class = objects::<ClusterClass>(life).all();
    ensure!(class.len() == 1 && class[0].metadata.namespace.as_deref() == Some("classes"), "{class:?}");
    Ok(())
}

/// What is missing until the pool has this version, and the Cluster is Available.
fn of_pool(life: &Life, version: &str) -> Vec<String> {
    let pools = objects::<MachinePool>(life).all();
    let status = pools.first().and_then(|pool| serde_json::to_value(pool.as_ref()).ok()).unwrap_or_default();
    let mut missing = Vec::new();
    if status["status"]["versions"] != json!([{"version": version, "replicas": 2}]) {
        missing.push(format!("versions: {}", status["status"]["versions"]));
    }
    let cluster = objects::<Cluster>(life).get(&name("demo"));
    for condition in ["Available", "TopologyReconciled"] {
        let found = cluster.as_ref().and_then(|cluster| cluster.condition(condition));
        if found.is_none_or(|found| found.status != "True") {
            missing.push(format!("{condition}: {found:?}"));
        }
    }
    missing
}

async fn with_pool(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(parse("pool.yaml", POOL_TEMPLATE)?);
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    let reference = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let class = json!({"machinePools": [{"class": "pool",
        "bootstrap": reference("bootstrap", "KubeadmConfigTemplate", "workers"),
        "infrastructure": reference("infrastructure", "DevMachinePoolTemplate", "pool")}]});
    set(&mut documents, "ClusterClass", "/spec/workers", class)?;
    remove(&mut documents, "ClusterClass", "/spec", "patches")?;
    let pools = json!({"machinePools": [{"class": "pool", "name": "mp-0", "replicas": 2}]});
    set(&mut documents, "Cluster", "/spec/topology/workers", pools)?;
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| of_pool(life, "v1.34.0")).await.context("created")?;
    let before: BTreeSet<String> = workers(life);
    change(life, "/version", json!("v1.35.0")).await?;
    until(life, |life| of_pool(life, "v1.35.0")).await.context("upgraded")?;
    ensure!(before.is_disjoint(&workers(life)), "each machine was replaced");
    delete(life).await?;
    ensure!(objects::<MachinePool>(life).all().is_empty());
    ensure!(objects::<DevMachinePool>(life).all().is_empty());
    Ok(())
}

#[test]
fn a_class_of_another_namespace() {
    Simulation::new(23).live(async |life, _| of_another_namespace(life).await).expect("seed 23");
}

#[test]
fn a_machine_pool_is_upgraded_after_its_control_plane() {
    Simulation::new(24).live(async |life, _| with_pool(life).await).expect("seed 24");
}
