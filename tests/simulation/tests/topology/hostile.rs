//! Classes of somebody who may write classes in a namespace, and nothing else.

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use schemas::cluster::ClusterClass;
use serde_json::json;
use simulation::simulation::{Life, Simulation};

use super::changes::until_told;
use super::life::{CLASS, CLUSTER, missing, open, until};

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: tenant}\n";
const TEMPLATE: &str = "
apiVersion: batch.example/v1
kind: JobTemplate
metadata: {name: infrastructure}
spec: {template: {spec: {command: rm}}}
";

/// The definition of a kind of somebody else, in whose place a class would make objects that its author may not.
fn definition(kind: &str, plural: &str) -> String {
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.batch.example}}
spec:
  group: batch.example
  scope: Namespaced
  names: {{kind: {kind}, plural: {plural}}}
  versions:
    - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
"
    )
}

/// A class and a Cluster in another namespace, whose infrastructure is to be a Job.
async fn create_hostile(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let mut documents = parse("namespace.yaml", NAMESPACE)?;
    for (kind, plural) in [("JobTemplate", "jobtemplates"), ("Job", "jobs")] {
        documents.extend(parse("definition.yaml", &definition(kind, plural))?);
    }
    apply_all(&life.plane.registry, &client, &documents).await?;
    let mut documents = parse("template.yaml", TEMPLATE)?;
    documents.extend(parse("class.yaml", CLASS)?);
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    for document in &mut documents {
        let object = &mut document.object;
        object["metadata"]["namespace"] = "tenant".into();
        if object["kind"] == "ClusterClass" {
            let reference =
                json!({"apiVersion": "batch.example/v1", "kind": "JobTemplate", "name": "infrastructure"});
            object["spec"]["infrastructure"]["templateRef"] = reference;
        }
    }
    apply_all(&life.plane.registry, &client, &documents).await?;
    Ok(())
}

/// The objects of a kind of somebody else in the namespace of the tenant.
fn strangers(life: &Life, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("batch.example", "v1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    Api::namespaced_with(life.plane.client("user"), "tenant", &resource)
}

async fn of_a_stranger(life: &Life) -> Result<()> {
    open(life).await;
    create_hostile(life).await?;
    let cluster = NamespacedName::new("tenant", "demo");
    until_told(
        life,
        &cluster,
        "ClusterClassNotReconciled",
        "jobtemplates.batch.example has none of the labels",
    )
    .await?;
    // Not even somebody who can write the status of the class gets a Job from it.
    let classes = Api::<ClusterClass>::namespaced(life.plane.client("user"), "tenant");
    let reconciled = json!({"status": {"observedGeneration": 1}});
    classes.patch_status("small", &PatchParams::default(), &Patch::Merge(reconciled)).await?;
    until_told(
        life,
        &cluster,
        "ReconcileFailed",
        "JobTemplate (batch.example/v1) is no template of a provider",
    )
    .await?;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("the Cluster of somebody else")?;
    let jobs = strangers(life, "Job", "jobs").list(&ListParams::default()).await?;
    ensure!(jobs.items.is_empty(), "no Job is made: {:?}", jobs.items);
    let template = strangers(life, "JobTemplate", "jobtemplates").get("infrastructure").await?;
    ensure!(template.metadata.owner_references.is_none(), "the class owns nothing of others: {template:?}");
    Ok(())
}

#[test]
fn a_class_makes_only_objects_of_providers() {
    Simulation::new(55).live(async |life, _| of_a_stranger(life).await).expect("seed 55");
}
