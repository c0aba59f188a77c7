//! Classes of somebody who may write classes in a namespace, and nothing else.

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use k8s_openapi::api::core::v1::{Pod, PodTemplate};
use kube::api::{Api, ListParams, Patch, PatchParams};
use schemas::HasConditions;
use schemas::cluster::{Cluster, ClusterClass};
use serde_json::{Value, json};
use simulation::world::{Life, World};

use super::life::{CLASS, CLUSTER, missing, objects, open, until};

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: tenant}\n";
const POD_TEMPLATE: &str = "
apiVersion: v1
kind: PodTemplate
metadata: {name: infrastructure}
template: {spec: {containers: [{name: a, image: a}]}}
";

/// A patch that makes the PodTemplate describe a Pod where templates of Cluster API describe theirs.
fn patch() -> Value {
    let selector =
        json!({"apiVersion": "v1", "kind": "PodTemplate", "matchResources": {"infrastructureCluster": true}});
    let pod = json!({"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}});
    json!([{"name": "pod", "definitions": [{"selector": selector, "jsonPatches": [{"op": "add", "path": "/spec", "value": pod}]}]}])
}

/// A class and a Cluster in another namespace, whose infrastructure is to be a Pod.
async fn create_hostile(life: &Life) -> Result<()> {
    let mut documents = parse("namespace.yaml", NAMESPACE)?;
    let mut others = parse("pod.yaml", POD_TEMPLATE)?;
    others.extend(parse("class.yaml", CLASS)?);
    others.extend(parse("cluster.yaml", CLUSTER)?);
    for document in &mut others {
        let object = &mut document.object;
        object["metadata"]["namespace"] = "tenant".into();
        if object["kind"] == "ClusterClass" {
            let reference = json!({"apiVersion": "v1", "kind": "PodTemplate", "name": "infrastructure"});
            object["spec"]["infrastructure"]["templateRef"] = reference;
            object["spec"]["patches"] = patch();
        }
    }
    documents.extend(others);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    Ok(())
}

async fn until_told(life: &Life, reason: &str, part: &str) -> Result<()> {
    let told = |life: &Life| {
        let cluster = objects::<Cluster>(life).get(&NamespacedName::new("tenant", "demo"));
        let condition = cluster.and_then(|cluster| cluster.condition("TopologyReconciled").cloned());
        let is_told = condition
            .as_ref()
            .is_some_and(|condition| condition.reason == reason && condition.message.contains(part));
        if is_told { Vec::new() } else { vec![format!("{condition:?}")] }
    };
    until(life, told).await.with_context(|| part.to_owned())
}

async fn of_a_pod_template(life: &Life) -> Result<()> {
    open(life).await;
    create_hostile(life).await?;
    until_told(life, "ClusterClassNotReconciled", "for kind PodTemplate").await?;
    // Not even somebody who can write the status of the class gets a Pod from it.
    let classes = Api::<ClusterClass>::namespaced(life.plane.client("user"), "tenant");
    let reconciled = json!({"status": {"observedGeneration": 1}});
    classes.patch_status("small", &PatchParams::default(), &Patch::Merge(reconciled)).await?;
    until_told(life, "ReconcileFailed", "PodTemplate (v1) is no template of a provider").await?;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("the Cluster of somebody else")?;
    let client = life.plane.client("user");
    let pods = Api::<Pod>::namespaced(client.clone(), "tenant").list(&ListParams::default()).await?;
    ensure!(pods.items.is_empty(), "no Pod is made: {:?}", pods.items);
    let template = Api::<PodTemplate>::namespaced(client, "tenant").get("infrastructure").await?;
    ensure!(template.metadata.owner_references.is_none(), "the class owns nothing of others: {template:?}");
    Ok(())
}

#[test]
fn a_class_makes_only_objects_of_providers() {
    World::new(55).live(async |life, _| of_a_pod_template(life).await).expect("seed 55");
}
