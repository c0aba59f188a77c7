//! Templates without a spec: their objects are as empty, and kubeadm's defaults are enough for a cluster.

use anyhow::{Context, Result, ensure};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use schemas::bootstrap::KubeadmConfig;
use serde_json::Value;
use simulation::simulation::{Life, Simulation};

use super::life::{CLASS, CLUSTER, delete, missing, objects, open, until};

/// From this version on, no feature gate is added to what kubeadm is told.
const VERSION: &str = "v1.36.0";

/// Removes fields of the object at a JSON pointer.
fn without(object: &mut Value, pointer: &str, fields: &[&str]) -> Result<()> {
    let place = object.pointer_mut(pointer).and_then(Value::as_object_mut).context("an object")?;
    fields.iter().for_each(|field| drop(place.remove(*field)));
    Ok(())
}

async fn live(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    for document in &mut documents {
        let object = &mut document.object;
        match object["kind"].as_str() {
            Some("KubeadmControlPlaneTemplate" | "KubeadmConfigTemplate") => without(object, "", &["spec"])?,
            Some("ClusterClass") => without(object, "/spec", &["patches", "variables"])?,
            Some("Cluster") => {
                without(object, "/spec/topology", &["variables"])?;
                object["spec"]["topology"]["version"] = VERSION.into();
            }
            _ => {}
        }
    }
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, VERSION)).await?;
    ensure!(objects::<KubeadmConfig>(life).all().len() == 3, "each Machine has its KubeadmConfig");
    delete(life).await
}

#[test]
fn a_cluster_of_a_class_with_empty_templates_comes_up() {
    Simulation::new(43).live(async |life, _| live(life).await).expect("seed 43");
}
