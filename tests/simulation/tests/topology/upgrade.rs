//! The hooks of an upgrade over two minor versions, and of the deletion after it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::names::CONTROL_PLANE;
use engine::object::{annotation, is_deleting, label};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use schemas::cluster::{Cluster, Machine, MachineDeployment};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;
use simulation::simulation::Life;

use super::changes::topology_reconciled;
use super::extension::{Extension, HOLD_SECONDS, UPGRADE};
use super::life::{change, create, left, missing, name, objects, until};

const OLD: &str = "v1.34.0";
const MIDDLE: &str = "v1.35.0";
const NEW: &str = "v1.36.0";
const DELETION: &str = "BeforeClusterDelete";
const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";

/// A hook that holds up the upgrade, and how far that has come.
struct Held {
    hook: &'static str,
    /// The version before; `None` for hooks that come after something.
    from: Option<&'static str>,
    to: &'static str,
    control_plane: &'static str,
    workers: &'static str,
    /// The pending hooks when it is asked.
    pending: &'static str,
}

const BEGUN: &str = "AfterClusterUpgrade";
const MOVED: &str = "AfterClusterUpgrade,AfterControlPlaneUpgrade";
const MOVED_LAST: &str =
    "AfterClusterUpgrade,AfterControlPlaneUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade";
const WORKERS_NEXT: &str = "AfterClusterUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade";
const WORKERS_MOVED: &str = "AfterClusterUpgrade,AfterWorkersUpgrade";

/// Workers take the last version only: they may be up to three minor versions behind.
const ORDER: [Held; 8] = [
    held(UPGRADE[0], Some(OLD), NEW, (OLD, OLD), ""),
    held(UPGRADE[1], Some(OLD), MIDDLE, (OLD, OLD), BEGUN),
    held(UPGRADE[2], None, MIDDLE, (MIDDLE, OLD), MOVED),
    held(UPGRADE[1], Some(MIDDLE), NEW, (MIDDLE, OLD), BEGUN),
    held(UPGRADE[2], None, NEW, (NEW, OLD), MOVED_LAST),
    held(UPGRADE[3], Some(OLD), NEW, (NEW, OLD), WORKERS_NEXT),
    held(UPGRADE[4], None, NEW, (NEW, NEW), WORKERS_MOVED),
    held(UPGRADE[5], None, NEW, (NEW, NEW), BEGUN),
];

const fn held(
    hook: &'static str,
    from: Option<&'static str>,
    to: &'static str,
    (control_plane, workers): (&'static str, &'static str),
    pending: &'static str,
) -> Held {
    Held { hook, from, to, control_plane, workers, pending }
}

/// Returns the versions of the control plane and of the workers, of the objects and of all their Machines.
pub fn versions(life: &Life) -> (BTreeSet<String>, BTreeSet<String>) {
    let planes = objects::<KubeadmControlPlane>(life).all();
    let mut plane: BTreeSet<String> = planes.iter().map(|plane| plane.spec.version.clone()).collect();
    let deployments = objects::<MachineDeployment>(life).all();
    let of_deployments =
        deployments.iter().filter_map(|deployment| deployment.spec.template.spec.version.clone());
    let mut workers: BTreeSet<String> = of_deployments.collect();
    for machine in objects::<Machine>(life).all() {
        let is_plane = label(machine.as_ref(), CONTROL_PLANE).is_some();
        let versions = if is_plane { &mut plane } else { &mut workers };
        versions.extend(machine.spec.version.clone());
    }
    (plane, workers)
}

/// Waits until the condition says that a hook holds something up, and then for some more calls of it.
async fn until_held(life: &Life, extension: &Extension, hook: &str) -> Result<()> {
    until(life, |life| {
        let (reason, message) = topology_reconciled(life);
        let is_told = message.contains(&format!("{hook}: not yet"));
        if is_told { Vec::new() } else { vec![format!("{hook}: {reason}: {message}")] }
    })
    .await?;
    let before = extension.asked().len();
    life.clock.sleep(Duration::from_secs(3 * HOLD_SECONDS + HOLD_SECONDS / 2)).await;
    let calls = extension.asked().len() - before;
    ensure!(calls == 3, "{hook} was asked {calls} times more");
    Ok(())
}

async fn upgrade(life: &Life, extension: &Extension) -> Result<()> {
    extension.forget();
    extension.hold();
    change(life, "/version", json!(NEW)).await?;
    for (position, held) in ORDER.iter().enumerate() {
        until_held(life, extension, held.hook).await?;
        let last = extension.asked().last().cloned().context("it was asked")?;
        ensure!(last.step() == (held.hook.to_owned(), held.to.to_owned()), "{:?}", last.step());
        ensure!(last.request["fromKubernetesVersion"].as_str() == held.from, "{}", last.request);
        ensure!(last.pending() == held.pending, "{}: {}", held.hook, last.pending());
        let only = |version: &str| BTreeSet::from([version.to_owned()]);
        let expected = (only(held.control_plane), only(held.workers));
        ensure!(versions(life) == expected, "{} holds: {:?}", held.hook, versions(life));
        let steps = extension.steps(false);
        let expected: Vec<_> =
            ORDER[..=position].iter().map(|held| (held.hook.to_owned(), held.to.to_owned())).collect();
        ensure!(steps == expected, "{steps:?}");
        extension.release(held.hook, held.to);
    }
    until(life, |life| missing(life, 2, NEW)).await.context("upgraded")?;
    let cluster = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
    for gone in ["runtime.cluster.x-k8s.io/pending-hooks", "topology.internal.cluster.x-k8s.io/upgrade-step"]
    {
        ensure!(annotation(cluster.as_ref(), gone).is_none(), "{gone}");
    }
    Ok(())
}

/// Sets the finalizers of the Cluster to those that it has, and one of somebody else if `keeps`.
async fn set_finalizer(life: &Life, keeps: bool) -> Result<()> {
    const FINALIZER: &str = "example.com/keep";
    let cluster = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
    let mut finalizers = cluster.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|finalizer| finalizer != FINALIZER);
    finalizers.extend(keeps.then(|| FINALIZER.to_owned()));
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
    clusters.patch("demo", &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn deletion(life: &Life, extension: &Extension) -> Result<()> {
    let before = objects::<Machine>(life).all().len();
    // The Cluster stays for a last look at it.
    set_finalizer(life, true).await?;
    let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
    clusters.delete("demo", &DeleteParams::default()).await?;
    until_held(life, extension, DELETION).await?;
    let (reason, message) = topology_reconciled(life);
    let expected = "Cluster is deleting. Following hooks are blocking delete: BeforeClusterDelete: not yet";
    ensure!((reason.as_str(), message.as_str()) == ("Deleting", expected), "{reason}: {message}");
    let is_permitted = |life: &Life| {
        let cluster = objects::<Cluster>(life).get(&name("demo"));
        cluster.is_some_and(|cluster| annotation(cluster.as_ref(), OK_TO_DELETE).is_some())
    };
    ensure!(!is_permitted(life));
    let machines = objects::<Machine>(life).all();
    let deleting = machines.iter().filter(|machine| is_deleting(machine.as_ref())).count();
    ensure!((machines.len(), deleting) == (before, 0), "nothing is deleted yet");
    extension.release(DELETION, "");
    until(life, |life| {
        let machines = objects::<Machine>(life).all();
        machines.iter().filter_map(|machine| machine.metadata.name.clone()).collect()
    })
    .await
    .context("its machines are deleted")?;
    ensure!(is_permitted(life), "{OK_TO_DELETE}");
    let asked = extension.count(DELETION);
    set_finalizer(life, false).await?;
    until(life, left).await.context("deleted")?;
    ensure!(extension.count(DELETION) == asked, "it is not asked again after it has said yes");
    Ok(())
}

async fn live(life: &Life, extension: &Extension) -> Result<()> {
    extension.register(life).await?;
    create(life).await?;
    until(life, |life| missing(life, 2, OLD)).await.context("created")?;
    upgrade(life, extension).await?;
    deletion(life, extension).await
}

#[test]
fn each_hook_of_an_upgrade_holds_what_comes_after_it() {
    let mut hooks = UPGRADE.to_vec();
    hooks.push(DELETION);
    let extension = Extension::new(&hooks);
    extension.simulation(32).live(async |life, _| live(life, &extension).await).expect("seed 32");
}
