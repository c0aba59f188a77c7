//! Upgrades whose way an extension plans.

use anyhow::{Context, Result, ensure};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use serde_json::{Value, json};
use simulation::simulation::Life;

use super::changes::until_told;
use super::extension::{Extension, UPGRADE};
use super::life::{CLASS, CLUSTER, change, missing, name, open, until};
use super::places::{add, remove};
use super::upgrade::versions;

const PLANNER: &str = "GenerateUpgradePlan";
const WAY: [&str; 2] = ["v1.35.0", "v1.36.0"];

/// A class that knows no versions, but an extension that plans upgrades.
async fn create(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    remove(&mut documents, "ClusterClass", "/spec", "kubernetesVersions")?;
    let upgrade = json!({"external": {"generateUpgradePlanExtension": "generateupgradeplan.ext"}});
    add(&mut documents, "ClusterClass", "/spec", "upgrade", upgrade)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")
}

/// Control plane and workers go through each version.
pub fn plan(request: &Value) -> Value {
    let steps = |from: &str| -> Vec<Value> {
        let from = request[from].as_str().unwrap_or_default();
        WAY.iter().filter(|version| **version > from).map(|version| json!({"version": version})).collect()
    };
    let (control_plane, workers) =
        (steps("fromControlPlaneKubernetesVersion"), steps("fromWorkersKubernetesVersion"));
    json!({"status": "Success", "controlPlaneUpgrades": control_plane, "workersUpgrades": workers})
}

async fn live(life: &Life, extension: &Extension) -> Result<()> {
    extension.register(life).await?;
    create(life).await?;
    ensure!(extension.asked().is_empty(), "there is nothing to plan");
    let wrong = [
        (json!([{"version": "v1.36.0"}]), "wrong at item 0: after v1.34.0 there must be"),
        (json!([{"version": "v1.35.0"}]), "must end with v1.36.0, not v1.35.0"),
        (json!([{"version": "x"}]), "\"x\" is not a semantic version"),
        (json!([{}]), "\"\" is not a semantic version"),
        (json!({"version": "v1.36.0"}), "cannot be read"),
    ];
    let before = versions(life);
    for (position, (steps, part)) in wrong.into_iter().enumerate() {
        extension.answer(PLANNER, move |_| json!({"status": "Success", "controlPlaneUpgrades": steps}));
        if position == 0 {
            change(life, "/version", json!("v1.36.0")).await?;
        }
        until_told(life, &name("demo"), "ReconcileFailed", part).await?;
        ensure!(versions(life) == before, "{part}: {:?}", versions(life));
    }
    ensure!(extension.asked().iter().all(|asked| asked.hook == PLANNER), "no hook is called without a plan");
    let request = extension.asked()[0].request.clone();
    let asked = ["fromControlPlaneKubernetesVersion", "fromWorkersKubernetesVersion", "toKubernetesVersion"]
        .map(|field| request[field].as_str().unwrap_or_default().to_owned());
    ensure!(asked == ["v1.34.0", "v1.34.0", "v1.36.0"], "{asked:?}");

    extension.forget();
    extension.answer(PLANNER, plan);
    until(life, |life| missing(life, 2, "v1.36.0")).await.context("upgraded")?;
    ensure!(extension.count(PLANNER) == 4, "each question is asked once: {}", extension.count(PLANNER));
    let steps: Vec<_> = extension.steps(true).into_iter().filter(|(hook, _)| hook != PLANNER).collect();
    let mut expected = vec![(UPGRADE[0].to_owned(), "v1.36.0".to_owned())];
    for version in WAY {
        expected.extend(UPGRADE[1..5].iter().map(|hook| ((*hook).to_owned(), version.to_owned())));
    }
    expected.push((UPGRADE[5].to_owned(), "v1.36.0".to_owned()));
    ensure!(steps == expected, "{steps:?}");
    Ok(())
}

#[test]
fn an_extension_plans_an_upgrade_and_its_plan_is_checked() {
    let mut hooks = UPGRADE.to_vec();
    hooks.push(PLANNER);
    let extension = Extension::new(&hooks);
    extension.simulation(33).live(async |life, _| live(life, &extension).await).expect("seed 33");
}
