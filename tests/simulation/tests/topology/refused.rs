//! A control plane whose next version the API server refuses: no hook follows what did not happen.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::object::annotation;
use schemas::cluster::{Cluster, ClusterClass};
use serde_json::{Value, json};
use simulation::simulation::Life;

use super::changes::until_told;
use super::extension::{Extension, UPGRADE};
use super::life::{change, create, missing, name, objects, set, until};

const FOLLOWING: &str = "AfterControlPlaneUpgrade";
const HOUR: Duration = Duration::from_secs(3600);

/// The patches of the class, and one that makes a control plane which the API server refuses.
fn with_refused(patches: &Value) -> Value {
    let mut patches = patches.clone();
    let selector = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate",
        "matchResources": {"controlPlane": true}});
    let operation =
        json!({"op": "add", "path": "/spec/template/spec/kubeadmConfigSpec/format", "value": "none"});
    let refused =
        json!({"name": "refused", "definitions": [{"selector": selector, "jsonPatches": [operation]}]});
    patches.as_array_mut().into_iter().for_each(|list| list.push(refused.clone()));
    patches
}

fn pending(life: &Life) -> String {
    let cluster = objects::<Cluster>(life).get(&name("demo"));
    let pending = cluster
        .as_ref()
        .and_then(|cluster| annotation(cluster.as_ref(), "runtime.cluster.x-k8s.io/pending-hooks"));
    pending.unwrap_or_default().to_owned()
}

async fn live(life: &Life, extension: &Extension) -> Result<()> {
    extension.register(life).await?;
    create(life).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
    let class = objects::<ClusterClass>(life).get(&name("small")).context("the class")?;
    let patches = serde_json::to_value(&class.spec.patches)?;
    set::<ClusterClass>(life, "small", "/patches", with_refused(&patches)).await?;
    until_told(life, &name("demo"), "ReconcileFailed", "format").await.context("refused at rest")?;
    change(life, "/version", json!("v1.35.0")).await?;
    until(life, |life| match pending(life).as_str() {
        "AfterClusterUpgrade" => Vec::new(),
        other => vec![other.to_owned()],
    })
    .await
    .context("the upgrade has begun")?;
    life.clock.sleep(HOUR).await;
    ensure!(pending(life) == "AfterClusterUpgrade", "nothing follows yet: {}", pending(life));
    ensure!(extension.count(FOLLOWING) == 0, "{FOLLOWING} was called, although nothing was upgraded");
    set::<ClusterClass>(life, "small", "/patches", patches).await?;
    until(life, |life| missing(life, 2, "v1.35.0")).await.context("upgraded")?;
    ensure!(extension.count(FOLLOWING) == 1, "called {} times", extension.count(FOLLOWING));
    Ok(())
}

#[test]
fn no_hook_follows_a_version_that_the_api_server_refuses() {
    let extension = Extension::new(&UPGRADE);
    extension.simulation(42).live(async |life, _| live(life, &extension).await).expect("seed 42");
}
