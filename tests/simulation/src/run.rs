//! Runs a scenario in a simulation with as many lives of the process as necessary.

use std::time::Duration;

use anyhow::{Result, bail};
use firstlight::manifests::apply::apply_all;
use serde_json::Value;
use store::Watcher;

use crate::invariants::Invariants;
use crate::manifests::{at_rest, cluster};
use crate::scenario::{Step, missing};
use crate::simulation::{Life, Simulation};
use test_plane::requests::{Kill, Requests};

/// Time limit of a step, in simulated time.
const STEP_LIMIT: Duration = Duration::from_secs(3600);
/// The system is idle if no controller has work to do within this time.
const REST: Duration = Duration::from_secs(5);

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    /// Number of writes of the controllers.
    pub writes: u64,
    /// Number of checked changes of objects.
    pub changes: u64,
    /// How often the process was started.
    pub lives: u64,
    /// Simulated time in seconds.
    pub seconds: i64,
    /// Method and path of each write, in order.
    pub trace: Vec<String>,
    /// The deterministic part of the state after each step.
    pub rests: Vec<Value>,
}

/// Runs `steps` with `seed`, and with a kill if one is given.
///
/// # Errors
/// An invariant is violated, or a step is not completed. The error contains the seed.
pub fn run(seed: u64, steps: &[Step], kill: Option<Kill>) -> Result<Report> {
    let mut simulation = Simulation::new(seed);
    if let Some(kill) = kill {
        simulation.requests.plan(kill);
    }
    let began = simulation.now();
    let mut progress = Progress { steps, done: 0, invariants: Invariants::default(), rests: Vec::new() };
    while progress.done < steps.len() {
        simulation.live(async |life, requests| progress.go_on(life, requests).await)?;
        if let Some(first) = progress.invariants.violations().first() {
            bail!("seed {seed}, {kill:?}: {first}");
        }
        if simulation.lives() > 3 + kill.map_or(0, |_| 1) {
            bail!("seed {seed}, {kill:?}: the process was started {} times", simulation.lives());
        }
    }
    Ok(Report {
        writes: simulation.requests.writes(),
        changes: progress.invariants.changes(),
        lives: simulation.lives(),
        seconds: (simulation.now() - began).num_seconds(),
        trace: simulation.requests.trace(),
        rests: progress.rests,
    })
}

struct Progress<'a> {
    steps: &'a [Step],
    done: usize,
    invariants: Invariants,
    rests: Vec<Value>,
}

impl Progress<'_> {
    /// Continues the scenario in a new life. Returns when it is complete, an invariant is violated, or the
    /// process is killed.
    async fn go_on(&mut self, life: &Life, requests: &Requests) -> Result<()> {
        let mut watcher = self.invariants.begin_life(&life.store, life.clock.now())?;
        while let Some(step) = self.steps.get(self.done).copied() {
            tokio::select! {
                biased;
                () = requests.killed() => return self.invariants.catch_up(&mut watcher, life.clock.now()),
                outcome = self.perform(life, step, &mut watcher) => outcome?,
            }
            if !self.invariants.violations().is_empty() {
                return Ok(());
            }
            self.done += 1;
        }
        Ok(())
    }

    async fn perform(&mut self, life: &Life, step: Step, watcher: &mut Watcher) -> Result<()> {
        match step {
            Step::Reach(shape) => {
                let client = life.plane.client("user");
                apply_all(&life.plane.registry, &client, &cluster(shape)?).await?;
            }
            Step::Replace(count, _) => self.delete_machines(life, count).await?,
            Step::Delete => delete(life, CLUSTER).await?,
        }
        let reached = tokio::time::timeout(STEP_LIMIT, self.follow(life, step, watcher)).await;
        match reached {
            Ok(outcome) => outcome?,
            Err(_) => bail!(
                "{step:?} is not reached in {} s:\n{}",
                STEP_LIMIT.as_secs(),
                missing(step, &self.invariants).join("\n")
            ),
        }
        let objects: Vec<Value> = self
            .invariants
            .objects()
            .map(|(_, object)| object.clone())
            .filter(|object| {
                object["apiVersion"].as_str().is_some_and(|api| api.contains("cluster.x-k8s.io/"))
            })
            .collect();
        self.rests.push(at_rest(&objects));
        Ok(())
    }

    /// Deletes the first control plane Machines. A later life deletes the same ones again.
    async fn delete_machines(&mut self, life: &Life, count: usize) -> Result<()> {
        let is_control_plane = |object: &Value| {
            object["kind"] == "Machine"
                && object["metadata"]["labels"]["cluster.x-k8s.io/control-plane"].is_string()
        };
        if self.invariants.deleted().is_empty() {
            let all = self.invariants.objects().filter(|(_, object)| is_control_plane(object));
            let first: Vec<String> = all.take(count).map(|(key, _)| key.to_owned()).collect();
            first.iter().for_each(|key| self.invariants.deletes(key));
        }
        for key in self.invariants.deleted().clone() {
            let name = key.rsplit('/').next().unwrap_or_default();
            delete(life, &format!("machines/{name}")).await?;
        }
        Ok(())
    }

    /// Observes changes until the step is complete and the controllers are idle.
    async fn follow(&mut self, life: &Life, step: Step, watcher: &mut Watcher) -> Result<()> {
        loop {
            self.invariants.catch_up(watcher, life.clock.now())?;
            if !self.invariants.violations().is_empty() {
                return Ok(());
            }
            if missing(step, &self.invariants).is_empty() && life.manager.is_idle(REST) {
                return Ok(());
            }
            // Reconciles without writes cause no event, so wait only for a limited simulated time.
            if let Ok(event) = tokio::time::timeout(REST, watcher.next()).await {
                self.invariants.observe_event(life.clock.now(), event?.as_ref());
            }
        }
    }
}

const CLUSTER: &str = "clusters/first";

/// Deletes an object of Cluster API in the namespace `default`; `object` is `PLURAL/NAME`.
async fn delete(life: &Life, object: &str) -> Result<()> {
    let client = life.plane.client("user");
    let path = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/{object}");
    let request = http::Request::delete(path).body(Vec::new())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
