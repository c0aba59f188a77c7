//! Templates without a spec: their objects are as empty, and kubeadm's defaults are enough for a cluster.

use anyhow::{Context, Result, ensure};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use schemas::bootstrap::KubeadmConfig;
use schemas::controlplane::KubeadmControlPlane;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

use super::life::{CLASS, CLUSTER, delete, missing, objects, open, until};

/// From this version on, no feature gate is added to what kubeadm is told.
const VERSION: &str = "v1.36.0";

async fn live(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    for document in &mut documents {
        let object = &mut document.object;
        match object["kind"].as_str() {
            Some("KubeadmControlPlaneTemplate" | "KubeadmConfigTemplate") => {
                object.as_object_mut().context("an object")?.remove("spec");
            }
            Some("ClusterClass") => {
                (object["spec"]["patches"], object["spec"]["variables"]) = (Value::Null, Value::Null);
            }
            Some("Cluster") => {
                object["spec"]["topology"]["variables"] = json!([]);
                object["spec"]["topology"]["version"] = VERSION.into();
            }
            _ => {}
        }
    }
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, VERSION)).await?;
    let planes = objects::<KubeadmControlPlane>(life).all();
    ensure!(planes.iter().all(|plane| plane.spec.kubeadm_config_spec.is_none()), "{planes:?}");
    let configs = objects::<KubeadmConfig>(life).all();
    let joined = configs.iter().filter(|config| config.spec.join_configuration.is_some()).count();
    ensure!((configs.len(), joined) == (3, 2), "{configs:?}");
    delete(life).await
}

#[test]
fn a_cluster_of_a_class_with_empty_templates_comes_up() {
    Simulation::new(43).live(async |life, _| live(life).await).expect("seed 43");
}
