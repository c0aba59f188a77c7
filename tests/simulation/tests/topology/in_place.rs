//! Upgrades in place: each Machine stays, and its version changes. By the simulated infrastructure itself, by an extension that fails half of the time in a
//! process that is killed, and by one that refuses a change, so that Machines are replaced after all.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::in_place::{UPDATE_IN_PROGRESS, is_in_progress};
use engine::names::CONTROL_PLANE;
use engine::object::{annotation, label, uid};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Machine, MachineSet};
use schemas::infrastructure::DevMachine;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

use super::extension::Extension;
use super::failing_extensions::{at_last, live_through};
use super::life::{CLASS, CLUSTER, change, missing, objects, open, until};
use super::places::add;

const HOOKS: [&str; 3] = ["CanUpdateMachine", "CanUpdateMachineSet", "UpdateMachine"];
/// What `missing` counts besides the first control plane Machine: two more, and two workers.
const OTHERS: usize = 4;

/// A class and a Cluster with three control plane Machines and two workers, of which one at a time may be unavailable, and none is created beside them.
fn manifests() -> Result<Vec<Document>> {
    let class = CLASS.replace("10s", "1s");
    let mut documents = parse("class.yaml", &class)?;
    let strategy = |more: Value| json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": more}});
    let one = strategy(json!({"maxSurge": 0}));
    add(&mut documents, "KubeadmControlPlaneTemplate", "/spec/template/spec", "rollout", one)?;
    let mut cluster = parse("cluster.yaml", CLUSTER)?;
    let one = strategy(json!({"maxSurge": 0, "maxUnavailable": 1}));
    add(&mut cluster, "Cluster", "/spec/topology/workers/machineDeployments/0", "rollout", one)?;
    add(&mut cluster, "Cluster", "/spec/topology/controlPlane", "replicas", json!(3))?;
    documents.extend(cluster);
    Ok(documents)
}

async fn apply(life: &Life, documents: &[Document]) -> Result<()> {
    open(life).await;
    apply_all(&life.plane.registry, &life.plane.client("user"), documents).await?;
    Ok(())
}

/// The UIDs of all Machines, by name; only those of workers, or of the control plane.
fn machines(life: &Life, control_plane: bool) -> BTreeMap<String, String> {
    let all = objects::<Machine>(life).all();
    let is_meant = |machine: &&std::sync::Arc<Machine>| {
        label(machine.as_ref(), CONTROL_PLANE).is_some() == control_plane
    };
    all.iter()
        .filter(is_meant)
        .map(|machine| (machine.metadata.name.clone().unwrap_or_default(), uid(machine.as_ref()).to_owned()))
        .collect()
}

fn both(life: &Life) -> [BTreeMap<String, String>; 2] {
    [machines(life, true), machines(life, false)]
}

/// Checks that all updates have ended, and that the machines have what the objects say.
fn check_ended(life: &Life, version: &str) -> Result<()> {
    for machine in objects::<Machine>(life).all() {
        let name = machine.metadata.name.clone().unwrap_or_default();
        ensure!(!is_in_progress(machine.as_ref()), "{name} is still updated: {:?}", machine.metadata);
        for (condition, status) in [("Updating", "False"), ("UpToDate", "True"), ("Ready", "True")] {
            let found = machine.condition(condition);
            ensure!(found.is_some_and(|found| found.status == status), "{name}: {found:?}");
        }
        let info = machine.status.as_ref().and_then(|status| status.node_info.as_ref());
        ensure!(info.is_some_and(|info| info.kubelet_version == version), "{name}: {info:?}");
    }
    for machine in objects::<DevMachine>(life).all() {
        ensure!(annotation(machine.as_ref(), UPDATE_IN_PROGRESS).is_none(), "{:?}", machine.metadata);
    }
    for config in objects::<KubeadmConfig>(life).all() {
        ensure!(annotation(config.as_ref(), UPDATE_IN_PROGRESS).is_none(), "{:?}", config.metadata);
    }
    let sets = objects::<MachineSet>(life).all();
    ensure!(sets.len() == 1, "the old MachineSets are gone: {sets:?}");
    Ok(())
}

async fn simulated(life: &Life) -> Result<()> {
    let mut documents = manifests()?;
    let asked = json!({"simulated.firstlight.dev/in-place-updates": ""});
    add(&mut documents, "Cluster", "/metadata", "annotations", asked)?;
    apply(life, &documents).await?;
    until(life, |life| missing(life, OTHERS, "v1.34.0")).await.context("created")?;
    let before = both(life);
    change(life, "/version", json!("v1.35.0")).await?;
    until(life, |life| missing(life, OTHERS, "v1.35.0")).await.context("upgraded")?;
    check_ended(life, "v1.35.0")?;
    ensure!(both(life) == before, "{before:?} became {:?}", both(life));
    // Another configuration of the workers needs no new Machines, either.
    change(life, "/variables/0/value", json!(64)).await?;
    until(life, |life| {
        let has =
            |config: &KubeadmConfig| serde_json::to_string(config).unwrap_or_default().contains("\"64\"");
        let configs = objects::<KubeadmConfig>(life).all();
        let count = configs.iter().filter(|config| has(config)).count();
        if count == 2 { missing(life, OTHERS, "v1.35.0") } else { vec![format!("{count} have the value")] }
    })
    .await
    .context("changed")?;
    until(life, |life| {
        check_ended(life, "v1.35.0").err().map(|error| error.to_string()).into_iter().collect()
    })
    .await?;
    ensure!(both(life) == before, "{before:?} became {:?}", both(life));
    Ok(())
}

#[test]
fn simulated_machines_are_upgraded_in_place_if_their_cluster_asks_for_it() {
    Simulation::new(51).live(async |life, _| simulated(life).await).expect("seed 51");
}

/// A patch that makes one object of a request the other.
fn whole(request: &Value, object: &str, path: &str) -> Value {
    let pointer = format!("/desired/{object}{path}");
    let patch = json!([{"op": "replace", "path": path, "value": request.pointer(&pointer)}]);
    json!({"patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string())})
}

fn can_update_machine(request: &Value) -> Value {
    json!({"status": "Success", "machinePatch": whole(request, "machine", "/spec"),
        "infrastructureMachinePatch": whole(request, "infrastructureMachine", "/spec"),
        "bootstrapConfigPatch": whole(request, "bootstrapConfig", "/spec")})
}

fn can_update_machine_set(request: &Value) -> Value {
    const PATH: &str = "/spec/template/spec";
    json!({"status": "Success", "machineSetPatch": whole(request, "machineSet", PATH),
        "infrastructureMachineTemplatePatch": whole(request, "infrastructureMachineTemplate", PATH),
        "bootstrapConfigTemplatePatch": whole(request, "bootstrapConfigTemplate", PATH)})
}

/// An extension that can make all changes.
fn extension() -> Extension {
    let extension = Extension::new(&HOOKS);
    extension.answer("CanUpdateMachine", can_update_machine);
    extension.answer("CanUpdateMachineSet", can_update_machine_set);
    extension
}

/// The step of the user that is next, over all lives.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    Create,
    Upgrade([BTreeMap<String, String>; 2]),
    Done,
}

async fn go_on(life: &Life, extension: &Extension, next: &mut Next) -> Result<()> {
    open(life).await;
    extension.update_machines_of(life);
    if *next == Next::Create {
        extension.register(life).await?;
        apply(life, &manifests()?).await?;
        at_last(life, |life| missing(life, OTHERS, "v1.34.0")).await.context("created")?;
        *next = Next::Upgrade(both(life));
    }
    if let Next::Upgrade(before) = next {
        change(life, "/version", json!("v1.35.0")).await?;
        at_last(life, |life| missing(life, OTHERS, "v1.35.0")).await.context("upgraded")?;
        let ended = |life: &Life| check_ended(life, "v1.35.0").err().map(|error| error.to_string());
        at_last(life, |life| ended(life).into_iter().collect()).await?;
        ensure!(both(life) == *before, "{before:?} became {:?}", both(life));
        *next = Next::Done;
    }
    Ok(())
}

/// Upgrades with an extension that fails half of the time, killed at these writes. Returns how many lives it took.
fn lives(seed: u64, kills: &[u64]) -> u64 {
    let extension = extension();
    let go_on = async |life: &Life, next: &mut Next| go_on(life, &extension, next).await;
    let lives = live_through(&extension, (seed, kills), (Next::Create, Next::Done), go_on).lives();
    let failed = extension.asked().iter().filter(|asked| !asked.is_accepted).count();
    assert!(failed > 3, "seed {seed}: {failed} of {} calls failed", extension.asked().len());
    lives
}

#[test]
fn an_extension_that_fails_half_of_the_time_upgrades_in_place() {
    assert_eq!(lives(52, &[]), 1);
}

#[test]
fn no_machine_is_lost_in_a_process_that_is_killed() {
    let kills: Vec<u64> = (0..60).map(|life| 90 + 23 * life).collect();
    let lives = lives(53, &kills);
    assert!(lives > 10, "{lives} lives");
}

async fn refused(life: &Life, extension: &Extension) -> Result<()> {
    extension.update_machines_of(life);
    extension.register(life).await?;
    apply(life, &manifests()?).await?;
    until(life, |life| missing(life, OTHERS, "v1.34.0")).await.context("created")?;
    let [control_plane, workers] = both(life);
    change(life, "/version", json!("v1.35.0")).await?;
    until(life, |life| missing(life, OTHERS, "v1.35.0")).await.context("upgraded")?;
    ensure!(machines(life, true) == control_plane, "the control plane is updated in place");
    let now = machines(life, false);
    ensure!(now.keys().all(|name| !workers.contains_key(name)), "{workers:?} became {now:?}");
    Ok(())
}

#[test]
fn machines_are_replaced_if_an_extension_refuses_a_change() {
    let extension = extension();
    extension.answer("CanUpdateMachineSet", |request| {
        let mut answer = can_update_machine_set(request);
        answer["machineSetPatch"] = Value::Null;
        answer
    });
    extension.simulation(54).live(async |life, _| refused(life, &extension).await).expect("seed 54");
    let asked = extension.count("CanUpdateMachineSet");
    assert!((1..=3).contains(&asked), "the answer is kept: {asked} calls");
}
