//! An extension that fails half of the time, and a process that is killed in between.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::object::annotation;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use kube::api::{Api, DeleteParams};
use schemas::cluster::Cluster;
use serde_json::json;
use simulation::simulation::{Life, Simulation};
use test_plane::requests::{Kill, Moment};

use super::extension::{Extension, UPGRADE};
use super::life::{CLASS, CLUSTER, change, left, missing, name, objects, open};
use super::places::{add, remove};
use super::plans::plan;
use crate::single_failures::assert_same;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The hooks of a whole life with an upgrade over two minor versions, with the version to which they belong.
const LIFE: [(&str, &str); 13] = [
    ("BeforeClusterCreate", ""),
    ("AfterControlPlaneInitialized", ""),
    (UPGRADE[0], "v1.36.0"),
    (UPGRADE[1], "v1.35.0"),
    (UPGRADE[2], "v1.35.0"),
    (UPGRADE[3], "v1.35.0"),
    (UPGRADE[4], "v1.35.0"),
    (UPGRADE[1], "v1.36.0"),
    (UPGRADE[2], "v1.36.0"),
    (UPGRADE[3], "v1.36.0"),
    (UPGRADE[4], "v1.36.0"),
    (UPGRADE[5], "v1.36.0"),
    ("BeforeClusterDelete", ""),
];
/// The hooks of the class, which are asked whenever it is needed.
const CLASS_HOOKS: [&str; 4] =
    ["GeneratePatches", "ValidateTopology", "DiscoverVariables", "GenerateUpgradePlan"];

/// The step of the user that is next, over all lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Create,
    Upgrade,
    Delete,
    Done,
}

/// Waits longer than other tests do: most reconciles fail, and are repeated later and later.
pub async fn at_last(life: &Life, missing: impl Fn(&Life) -> Vec<String>) -> Result<()> {
    let done = async {
        while !missing(life).is_empty() {
            life.clock.sleep(Duration::from_secs(5)).await;
        }
    };
    tokio::time::timeout(DAY, done).await.with_context(|| missing(life).join("\n"))
}

async fn create(life: &Life, extension: &Extension) -> Result<()> {
    extension.register(life).await?;
    // Machines that start at once: while they do not, calls only fail and are repeated.
    let mut documents = parse("class.yaml", &CLASS.replace("10s", "1s"))?;
    let external = json!({"generatePatchesExtension": "generatepatches.ext",
        "validateTopologyExtension": "validatetopology.ext",
        "discoverVariablesExtension": "discovervariables.ext"});
    let patches = json!([{"name": "external", "external": external}]);
    add(&mut documents, "ClusterClass", "/spec", "patches", patches)?;
    let planner = json!({"external": {"generateUpgradePlanExtension": "generateupgradeplan.ext"}});
    add(&mut documents, "ClusterClass", "/spec", "upgrade", planner)?;
    remove(&mut documents, "ClusterClass", "/spec", "kubernetesVersions")?;
    documents.extend(parse("cluster.yaml", &CLUSTER.replace("replicas: 2", "replicas: 1"))?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    at_last(life, |life| missing(life, 1, "v1.34.0")).await.context("created")
}

async fn go_on(life: &Life, extension: &Extension, next: &mut Next) -> Result<()> {
    open(life).await;
    if *next == Next::Create {
        create(life, extension).await?;
        *next = Next::Upgrade;
    }
    if *next == Next::Upgrade {
        change(life, "/version", json!("v1.36.0")).await?;
        at_last(life, |life| missing(life, 1, "v1.36.0")).await.context("upgraded")?;
        let cluster = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
        let pending = annotation(cluster.as_ref(), "runtime.cluster.x-k8s.io/pending-hooks");
        ensure!(pending.is_none(), "{pending:?}");
        *next = Next::Delete;
    }
    if !objects::<Cluster>(life).all().is_empty() {
        let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
        match clusters.delete("demo", &DeleteParams::default()).await {
            Ok(_) => {}
            // The life before deleted it, and it went between the look at the cache and the request.
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    at_last(life, left).await.context("deleted")?;
    *next = Next::Done;
    Ok(())
}

/// Goes on from the first step of the user to the last, in as many lives as needed: `extension` fails half of the time, and the process is
/// killed at these writes. Returns the simulation in which it lived.
pub fn live_through<Step: PartialEq + Debug>(
    extension: &Extension,
    (seed, kills): (u64, &[u64]),
    (mut next, last): (Step, Step),
    go_on: impl AsyncFn(&Life, &mut Step) -> Result<()>,
) -> Simulation {
    extension.fail_half(seed);
    let mut simulation = extension.simulation(seed);
    for write in kills {
        let moment = if write % 2 == 0 { Moment::Before } else { Moment::After };
        simulation.requests.plan(Kill { write: *write, moment });
    }
    while next != last {
        let lived = simulation.live(async |life, requests| {
            tokio::select! {
                biased;
                () = requests.killed() => Ok(()),
                done = go_on(life, &mut next) => done,
            }
        });
        lived.unwrap_or_else(|error| panic!("seed {seed}, life {}, {next:?}: {error:#}", simulation.lives()));
        assert!(simulation.lives() <= kills.len() as u64 + 1, "seed {seed}: it does not end");
    }
    simulation
}

/// Lives with an extension that fails, and is killed at these writes, as far as it comes to them. Returns the number of lives, and all writes.
fn lives(seed: u64, kills: &[u64]) -> (u64, Vec<String>) {
    let mut hooks: Vec<&'static str> = LIFE.iter().map(|(hook, _)| *hook).chain(CLASS_HOOKS).collect();
    hooks.sort_unstable();
    hooks.dedup();
    let extension = Extension::new(&hooks);
    extension.answer("GenerateUpgradePlan", plan);
    let go_on = async |life: &Life, next: &mut Next| go_on(life, &extension, next).await;
    let simulation = live_through(&extension, (seed, kills), (Next::Create, Next::Done), go_on);
    let failed = extension.asked().iter().filter(|asked| !asked.is_accepted).count();
    assert!(failed * 3 > extension.asked().len(), "seed {seed}: {failed} calls failed");
    for hook in &hooks {
        assert!(extension.count(hook) > 0, "seed {seed}: {hook} was not asked");
    }
    let mut steps = extension.steps(true);
    steps.retain(|(hook, version)| is_of_life(hook, version, !kills.is_empty()));
    let expected: Vec<_> = LIFE.iter().map(|(hook, to)| ((*hook).to_owned(), (*to).to_owned())).collect();
    assert_eq!(steps, expected, "seed {seed}");
    (simulation.lives(), simulation.requests.trace())
}

/// Returns whether a hook belongs to the life. If a process ends after it has recorded that the control plane takes the next version, but before
/// the control plane does, the hooks that come after that are called for the version before. These do not count.
fn is_of_life(hook: &str, version: &str, is_killed: bool) -> bool {
    LIFE.iter().any(|(known, to)| hook == *known && (version == *to || !is_killed))
}

#[test]
fn a_cluster_comes_to_rest_with_an_extension_that_fails_half_of_the_time() {
    assert_eq!(lives(36, &[]).0, 1);
}

#[test]
fn nothing_is_lost_with_a_failing_extension_and_a_process_that_is_killed() {
    let kills: Vec<u64> = (0..40).map(|life| 25 + 151 * life).collect();
    let (count, writes) = lives(37, &kills);
    assert!(count > 4, "{count} lives");
    // All that happens depends on the seed alone, so that a failure can be repeated.
    let (_, again) = lives(37, &kills);
    assert_same(&writes, &again);
}
