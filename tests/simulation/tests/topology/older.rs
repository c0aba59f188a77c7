//! A class that names its templates in v1beta1: the version that it names says where fields are.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::names::TOPOLOGY_OWNED;
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfigTemplate;
use schemas::cluster::{ClusterClass, Machine};
use schemas::controlplane::KubeadmControlPlane;
use schemas::infrastructure::DevMachineTemplate;
use serde_json::json;
use simulation::simulation::{Life, Simulation};

use super::at_rest::writes;
use super::life::{change, delete, missing, name, objects, open, until, workers};

const MANIFESTS: &str = include_str!("../../data/topology/older_class.yaml");
const MINUTES: Duration = Duration::from_secs(30 * 60);

/// The control plane has what its template, the patches and the class say, at the places of the newest version.
fn check_control_plane(life: &Life) -> Result<()> {
    let planes = objects::<KubeadmControlPlane>(life).all();
    let plane = serde_json::to_value(&planes.first().context("the control plane")?.spec)?;
    let arguments = plane.pointer("/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs");
    let expected = json!([
        {"name": "audit-log-path", "value": "/var/log/audit.log"}, {"name": "profiling", "value": "false"},
    ]);
    ensure!(arguments == Some(&expected), "{plane}");
    let machine = &plane["machineTemplate"]["spec"];
    ensure!(machine["deletion"]["nodeDrainTimeoutSeconds"] == 120, "{plane}");
    let template = machine["infrastructureRef"]["name"].as_str().context("a template")?;
    let template = objects::<DevMachineTemplate>(life).get(&name(template)).context("the template exists")?;
    ensure!(label(template.as_ref(), TOPOLOGY_OWNED).is_some());
    Ok(())
}

fn has_max_pods(life: &Life, wanted: &str) -> bool {
    let templates = objects::<KubeadmConfigTemplate>(life).all();
    let mut owned = templates.iter().filter(|template| label(template.as_ref(), TOPOLOGY_OWNED).is_some());
    owned.any(|template| {
        let text = serde_json::to_string(template.as_ref()).unwrap_or_default();
        text.contains(&format!(r#"{{"name":"max-pods","value":"{wanted}"}}"#))
    })
}

async fn come_up(life: &Life) -> Result<()> {
    open(life).await;
    let documents = parse("older.yaml", MANIFESTS)?;
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
    check_control_plane(life)?;
    ensure!(has_max_pods(life, "110"), "the workers have their patch");
    let class = objects::<ClusterClass>(life).get(&name("small")).context("the class")?;
    let versions = class.condition("RefVersionsUpToDate").context("a condition")?;
    ensure!(versions.status == "False" && versions.message.contains("latest: v1beta2"), "{versions:?}");

    let first = workers(life);
    change(life, "/workers/machineDeployments/0/replicas", json!(3)).await?;
    until(life, |life| missing(life, 3, "v1.34.0")).await.context("scaled")?;
    ensure!(workers(life).is_superset(&first), "no Machine was replaced");
    change(life, "/variables/0/value", json!(64)).await?;
    until(life, |life| {
        let old = workers(life).intersection(&first).count();
        if old == 0 { missing(life, 3, "v1.34.0") } else { vec![format!("{old} old Machines")] }
    })
    .await
    .context("a variable")?;
    ensure!(has_max_pods(life, "64"), "the patch has the new value");
    change(life, "/version", json!("v1.35.0")).await?;
    until(life, |life| missing(life, 3, "v1.35.0")).await.context("upgraded")?;
    check_control_plane(life)
}

/// Returns the names of all Machines.
fn machines(life: &Life) -> Vec<String> {
    let machines = objects::<Machine>(life).all();
    let mut names: Vec<String> =
        machines.iter().filter_map(|machine| machine.metadata.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn a_class_of_v1beta1_lives_as_one_of_the_newest_version() {
    let mut simulation = Simulation::new(41);
    let before: Result<Vec<String>> = simulation.live(async |life, requests| {
        come_up(life).await?;
        life.clock.sleep(MINUTES).await;
        let before = requests.trace().len();
        life.clock.sleep(MINUTES).await;
        let all = requests.trace();
        let found = writes(&all[before..]);
        ensure!(found.is_empty(), "at rest: {found:?}");
        Ok(machines(life))
    });
    let before = before.expect("seed 41");
    let after: Result<()> = simulation.live(async |life, _| {
        open(life).await;
        life.clock.sleep(MINUTES).await;
        ensure!(machines(life) == before, "a restart replaces nothing: {:?}", machines(life));
        ensure!(missing(life, 3, "v1.35.0").is_empty(), "{:?}", missing(life, 3, "v1.35.0"));
        delete(life).await
    });
    after.expect("seed 41, the second life");
}
