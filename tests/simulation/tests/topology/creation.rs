//! Hooks at the beginning of a Cluster's life.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::object::annotation;
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::Cluster;
use serde_json::json;
use simulation::simulation::Life;

use super::changes::topology_reconciled;
use super::extension::{Extension, HOLD_SECONDS};
use super::life::{change, create, left, missing, name, objects, until};

const HOOK: &str = "BeforeClusterCreate";
const AFTER: &str = "AfterControlPlaneInitialized";

/// Nothing exists but the Cluster.
fn check_nothing_is_created(life: &Life) -> Result<()> {
    let left = left(life);
    ensure!(left == ["Cluster default/demo"], "{left:?}");
    ensure!(objects::<Secret>(life).get(&name("demo-shim")).is_none(), "there is no shim");
    Ok(())
}

fn pending(life: &Life) -> String {
    let cluster = objects::<Cluster>(life).get(&name("demo"));
    let pending = cluster.as_ref().and_then(|cluster| {
        annotation(cluster.as_ref(), "runtime.cluster.x-k8s.io/pending-hooks").map(str::to_owned)
    });
    pending.unwrap_or_default()
}

async fn creation(life: &Life, extension: &Extension) -> Result<()> {
    extension.register(life).await?;
    extension.hold();
    create(life).await?;
    let expected = "Following hooks are blocking Cluster topology creation: BeforeClusterCreate: not yet";
    until(life, |life| {
        let found = topology_reconciled(life);
        if found == ("ClusterCreating".to_owned(), expected.to_owned()) {
            return Vec::new();
        }
        vec![format!("{found:?}")]
    })
    .await?;
    life.clock.sleep(Duration::from_secs(HOLD_SECONDS / 2)).await;
    // A change of the Cluster is seen, but the extension is not asked again.
    change(life, "/workers/machineDeployments/0/replicas", json!(1)).await?;
    life.clock.sleep(Duration::from_secs(HOLD_SECONDS / 2 - 10)).await;
    ensure!(extension.count(HOOK) == 1, "asked {} times before the time", extension.count(HOOK));
    check_nothing_is_created(life)?;
    life.clock.sleep(Duration::from_secs(20)).await;
    ensure!(extension.count(HOOK) == 2, "asked {} times after the time", extension.count(HOOK));
    check_nothing_is_created(life)?;
    extension.release(HOOK, "");
    until(life, |life| if pending(life) == AFTER { Vec::new() } else { vec![pending(life)] })
        .await
        .context("the next hook is pending")?;
    until(life, |life| missing(life, 1, "v1.34.0")).await.context("created")?;
    let asked: Vec<_> = extension.asked().into_iter().map(|asked| asked.hook).collect();
    ensure!(asked == [HOOK, HOOK, HOOK, AFTER], "{asked:?}");
    ensure!(pending(life).is_empty(), "{}", pending(life));
    let request = &extension.asked()[0].request;
    ensure!(request["cluster"]["metadata"]["name"] == "demo" && request["cluster"]["status"].is_null());
    Ok(())
}

#[test]
fn nothing_is_created_before_the_extension_says_yes() {
    let extension = Extension::new(&[HOOK, AFTER]);
    extension.simulation(31).live(async |life, _| creation(life, &extension).await).expect("seed 31");
}
