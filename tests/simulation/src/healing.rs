//! Machines of a cluster with health checks break, drawn from a seed, and their owners replace them. What is healthy is never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use machinery::clock::Clock;
use machinery::random::Random;
use schemas::infrastructure::DevMachine;
use serde_json::{Value, json};
use store::Watcher;
use test_plane::requests::{Kill, Requests};

use crate::invariants::Invariants;
use crate::simulation::{Life, Simulation};

const EXAMPLE: &str = include_str!("../../../examples/self-healing.yaml");
/// Limit for a state that must be reached, in simulated time.
const LIMIT: Duration = Duration::from_secs(3600);
/// A state that lasts for this long without any work is final.
const REST: Duration = Duration::from_secs(60);
/// How often machines break in a run.
const ROUNDS: usize = 3;
/// The failures that are drawn.
const FAILURES: [&str; 2] =
    ["simulated.firstlight.dev/kubelet-stopped", "simulated.firstlight.dev/node-not-ready"];
const LABEL: &str = "cluster.x-k8s.io/control-plane";

/// The result of a run.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// Number of writes of the controllers.
    pub writes: u64,
    /// How many machines broke.
    pub broken: usize,
    /// How many machines were replaced.
    pub replaced: usize,
}

/// Runs a cluster in which machines break, with a kill of the process if one is given.
///
/// # Errors
/// An invariant is violated, or the cluster does not recover. The error contains the seed.
pub fn run(seed: u64, kill: Option<Kill>) -> Result<Report> {
    let mut simulation = Simulation::new(seed);
    if let Some(kill) = kill {
        simulation.requests.plan(kill);
    }
    let random = Random::seeded(seed.wrapping_mul(7_919));
    let control_planes = if random.number().is_multiple_of(2) { 3 } else { 5 };
    let mut progress = Progress {
        random,
        control_planes,
        round: 0,
        stage: Stage::Start,
        sick: BTreeMap::new(),
        healthy: BTreeMap::new(),
        invariants: Invariants::default(),
        report: Report { writes: 0, broken: 0, replaced: 0 },
    };
    while progress.round < ROUNDS {
        let lived = simulation.live(async |life, requests| progress.go_on(life, requests).await);
        if let Err(error) = lived {
            bail!("seed {seed}, {kill:?}, round {} ({:?}): {error:#}", progress.round, progress.stage);
        }
        ensure!(
            simulation.lives() < 3,
            "seed {seed}, {kill:?}: the process was started {} times",
            simulation.lives()
        );
    }
    Ok(Report { writes: simulation.requests.writes(), ..progress.report })
}

/// Where a round stands. A later life continues there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The cluster comes up, or recovers completely.
    Start,
    /// The drawn machines are sick, and are replaced as far as the rules allow it.
    Sick,
    /// What is still sick gets well by itself.
    Healing,
}

struct Progress {
    random: Random,
    control_planes: usize,
    round: usize,
    stage: Stage,
    /// The Machines that were made sick in this round, each with its failure.
    sick: BTreeMap<String, &'static str>,
    /// The other Machines at that time, with their UIDs.
    healthy: BTreeMap<String, String>,
    invariants: Invariants,
    report: Report,
}

impl Progress {
    async fn go_on(&mut self, life: &Life, requests: &Requests) -> Result<()> {
        let mut watcher = self.invariants.begin_life(&life.store, life.clock.now())?;
        apply_all(&life.plane.registry, &life.plane.client("user"), &cluster(self.control_planes)?).await?;
        while self.round < ROUNDS {
            tokio::select! {
                biased;
                () = requests.killed() => return self.invariants.catch_up(&mut watcher, life.clock.now()),
                outcome = self.stage(life, &mut watcher) => outcome?,
            }
        }
        Ok(())
    }

    /// Completes the current stage.
    async fn stage(&mut self, life: &Life, watcher: &mut Watcher) -> Result<()> {
        match self.stage {
            Stage::Start => {
                self.follow(&life.clock, watcher, Self::is_whole).await?;
                self.draw();
                self.stage = Stage::Sick;
            }
            Stage::Sick => {
                for (name, failure) in self.sick.clone() {
                    annotate(life, &name, json!({failure: ""})).await?;
                }
                let must_heal = self.must_heal();
                let is_done = |this: &Self| this.sick_left().is_empty() && this.is_whole();
                self.follow(&life.clock, watcher, |this| is_done(this) || !must_heal).await?;
                self.nothing_healthy_was_touched()?;
                self.report.replaced += self.sick.len() - self.sick_left().len();
                self.stage = Stage::Healing;
            }
            Stage::Healing => {
                for name in self.sick_left() {
                    let failures: BTreeMap<&str, Value> =
                        FAILURES.map(|failure| (failure, Value::Null)).into();
                    annotate(life, &name, json!(failures)).await?;
                }
                self.follow(&life.clock, watcher, Self::is_whole).await?;
                self.nothing_healthy_was_touched()?;
                self.round += 1;
                self.stage = Stage::Start;
            }
        }
        Ok(())
    }

    /// Observes changes until `is_done` holds and the controllers are at rest.
    async fn follow(
        &mut self,
        clock: &Clock,
        watcher: &mut Watcher,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<()> {
        let follow = async {
            loop {
                let event = tokio::time::timeout(REST, watcher.next()).await;
                let is_silent = event.is_err();
                if let Ok(event) = event {
                    self.invariants.observe_event(clock.now(), event?.as_ref());
                }
                if let Some(first) = self.invariants.violations().first() {
                    bail!("{first}");
                }
                if is_silent && is_done(self) {
                    return Ok(());
                }
            }
        };
        match tokio::time::timeout(LIMIT, follow).await {
            Ok(outcome) => outcome,
            Err(_) => bail!("not in {} s: sick {:?}, {}", LIMIT.as_secs(), self.sick, self.state()),
        }
    }

    fn machines(&self) -> impl Iterator<Item = &Value> {
        self.invariants.objects().map(|(_, object)| object).filter(|object| object["kind"] == "Machine")
    }

    /// Returns whether all machines are there, and the Cluster is Available.
    fn is_whole(&self) -> bool {
        let is_true = |object: &Value, type_: &str| {
            let conditions = object["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|condition| condition["type"] == type_ && condition["status"] == "True")
        };
        let machines: Vec<&Value> = self.machines().collect();
        let mut clusters =
            self.invariants.objects().map(|(_, object)| object).filter(|object| object["kind"] == "Cluster");
        machines.len() == self.control_planes + 3
            && machines
                .iter()
                .all(|machine| is_true(machine, "Available") && is_true(machine, "HealthCheckSucceeded"))
            && clusters.all(|cluster| is_true(cluster, "Available"))
    }

    /// Draws the Machines that break now.
    fn draw(&mut self) {
        let is_control_plane = |machine: &&Value| machine["metadata"]["labels"][LABEL].is_string();
        let name = |machine: &Value| machine["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let (control_planes, workers): (Vec<&Value>, Vec<&Value>) =
            self.machines().partition(is_control_plane);
        let mut sick = BTreeMap::new();
        for (machines, most) in [(control_planes, self.control_planes / 2 + 1), (workers, 3)] {
            let mut names: Vec<String> = machines.into_iter().map(name).collect();
            let count = usize::try_from(self.random.number()).unwrap_or_default() % (most + 1);
            for _ in 0..count {
                let index = usize::try_from(self.random.number()).unwrap_or_default() % names.len();
                let failure =
                    FAILURES[usize::try_from(self.random.number()).unwrap_or_default() % FAILURES.len()];
                sick.insert(names.swap_remove(index), failure);
            }
        }
        let uid = |machine: &Value| machine["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let all = self.machines().map(|machine| (name(machine), uid(machine)));
        self.healthy = all.filter(|(name, _)| !sick.contains_key(name)).collect();
        self.report.broken += sick.len();
        self.sick = sick;
    }

    /// Returns whether the rules demand that all sick Machines are replaced: a minority of the control plane, and at most two workers, as
    /// the health check says.
    fn must_heal(&self) -> bool {
        let healthy = |is_control_plane: bool| {
            let all = self
                .machines()
                .filter(|machine| machine["metadata"]["labels"][LABEL].is_string() == is_control_plane);
            all.filter(|machine| {
                machine["metadata"]["name"].as_str().is_some_and(|name| self.healthy.contains_key(name))
            })
            .count()
        };
        healthy(true) > self.control_planes / 2 && healthy(false) >= 1
    }

    /// Returns the sick Machines that still exist.
    fn sick_left(&self) -> Vec<String> {
        let names: BTreeSet<&str> =
            self.machines().filter_map(|machine| machine["metadata"]["name"].as_str()).collect();
        self.sick.keys().filter(|name| names.contains(name.as_str())).cloned().collect()
    }

    fn nothing_healthy_was_touched(&self) -> Result<()> {
        for (name, uid) in &self.healthy {
            let found = self.machines().find(|machine| machine["metadata"]["name"] == name.as_str());
            let Some(machine) = found else {
                bail!("Machine {name} was healthy, and is gone; {}", self.state())
            };
            ensure!(
                machine["metadata"]["uid"] == uid.as_str(),
                "Machine {name} was healthy, and is another one"
            );
            ensure!(
                machine["metadata"]["deletionTimestamp"].is_null(),
                "Machine {name} was healthy, and is being deleted; sick were {:?}",
                self.sick
            );
        }
        Ok(())
    }

    /// Returns the Machines with their conditions that are not True, for errors.
    fn state(&self) -> String {
        let line = |machine: &Value| {
            let conditions = machine["status"]["conditions"].as_array();
            let bad = conditions.into_iter().flatten().filter(|condition| condition["status"] != "True");
            let bad: Vec<String> = bad
                .map(|condition| {
                    format!("{} {} {}", condition["type"], condition["reason"], condition["message"])
                })
                .collect();
            format!("{}: {}", machine["metadata"]["name"], bad.join("; "))
        };
        self.machines().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the manifests of the cluster.
fn cluster(control_planes: usize) -> Result<Vec<Document>> {
    let mut documents = parse("self-healing.yaml", EXAMPLE)?;
    for document in &mut documents {
        if document.object["kind"] == "KubeadmControlPlane" {
            document.object["spec"]["replicas"] = control_planes.into();
        }
    }
    Ok(documents)
}

/// Changes the annotations of the DevMachine of a Machine, which has the Machine's name.
async fn annotate(life: &Life, name: &str, annotations: Value) -> Result<()> {
    let machines: Api<DynamicObject> =
        Api::namespaced_with(life.plane.client("user"), "default", &ApiResource::erase::<DevMachine>(&()));
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    match machines.patch(name, &PatchParams::default(), &patch).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
