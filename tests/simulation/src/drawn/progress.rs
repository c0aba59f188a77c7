//! Plays a script over the lives of a process, and observes every change.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use chrono::TimeDelta;
use machinery::random::Random;
use serde_json::json;
use store::{Event, Watcher};
use test_plane::requests::Requests;
use tokio::time::Instant;

use super::script::{Act, Action, Script, When};
use super::user::{User, path_of};
use super::wanted::Wanted;
use crate::invariants::{Invariants, name, namespace};
use crate::simulation::Life;

/// Limit for the clusters to become as wanted, in simulated time.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// A state that lasts for this long without any work is final.
const REST: Duration = Duration::from_secs(5);
/// A write that is waited for does not come if there is no change for this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// At rest, nothing is written for this time, which has at least two resyncs of each object.
const QUIET: Duration = Duration::from_secs(25 * 60);
/// Events that are lost are made up for by the resync, which comes within this time.
const RESYNC: TimeDelta = TimeDelta::minutes(15);
/// Lets a machine start, and never become a Node.
pub(super) const HANGS: &str = "simulated.firstlight.dev/bootstrap-hangs";

/// How far a script was played.
pub(super) struct Progress<'a> {
    pub(super) script: &'a Script,
    pub(super) random: Random,
    pub(super) wanted: Vec<Wanted>,
    pub(super) invariants: Invariants,
    /// The clusters whose connections are cut.
    pub(super) cut: BTreeSet<usize>,
    /// How many of the next machines of a cluster hang.
    pub(super) hanging: BTreeMap<usize, usize>,
    /// DevMachines that were observed before.
    known: BTreeSet<String>,
    done: usize,
    is_prepared: bool,
}

impl<'a> Progress<'a> {
    /// Returns the beginning of a script.
    pub(super) fn new(seed: u64, script: &'a Script) -> Self {
        let mut invariants = Invariants::default();
        if !script.deliveries.is_empty() {
            invariants.expect_delay(RESYNC);
        }
        Self {
            script,
            random: Random::seeded(seed.wrapping_mul(7_919)),
            wanted: script.clusters.iter().map(Wanted::new).collect(),
            invariants,
            cut: BTreeSet::new(),
            hanging: BTreeMap::new(),
            known: BTreeSet::new(),
            done: 0,
            is_prepared: false,
        }
    }

    /// Returns whether the whole script was played.
    pub(super) fn is_complete(&self) -> bool {
        self.done == self.script.acts.len()
    }

    /// Returns the number of checked changes.
    pub(super) fn changes(&self) -> u64 {
        self.invariants.changes()
    }

    /// Says where the script stands, for errors.
    pub(super) fn place(&self) -> String {
        let action = self.script.acts.get(self.done).map(|act| act.1);
        format!("act {} ({action:?}), at {}", self.done, self.invariants.view().now())
    }

    /// Continues the script in a new life. Returns when it is complete, or the process is killed.
    pub(super) async fn go_on(&mut self, life: &Life, requests: &Requests) -> Result<()> {
        let mut watcher = self.invariants.begin_life(&life.store, life.clock.now())?;
        self.restore_cuts(life);
        tokio::select! {
            biased;
            () = requests.killed() => {}
            outcome = self.play(life, requests, &mut watcher) => return outcome,
        }
        self.invariants.catch_up(&mut watcher, life.clock.now())
    }

    async fn play(&mut self, life: &Life, requests: &Requests, watcher: &mut Watcher) -> Result<()> {
        if !self.is_prepared {
            self.prepare(life).await?;
            self.is_prepared = true;
        }
        while let Some(Act(when, action)) = self.script.acts.get(self.done).copied() {
            match when {
                When::After(seconds) => self.pass(life, watcher, Duration::from_secs(seconds)).await?,
                When::AtWrite(write) => self.wait_for_write(life, requests, watcher, write).await?,
            }
            self.perform(life, action).await?;
            if action == Action::Settle {
                self.settle(life, requests, watcher).await?;
            }
            self.done += 1;
        }
        Ok(())
    }

    /// Observes changes for this time.
    pub(super) async fn pass(&mut self, life: &Life, watcher: &mut Watcher, time: Duration) -> Result<()> {
        let end = life.clock.monotonic() + time;
        while let Ok(event) = tokio::time::timeout_at(end, watcher.next()).await {
            self.observe(life, event?.as_ref()).await?;
        }
        Ok(())
    }

    /// Observes changes until the controllers have made this number of writes, or none for a while.
    async fn wait_for_write(
        &mut self,
        life: &Life,
        requests: &Requests,
        watcher: &mut Watcher,
        write: u64,
    ) -> Result<()> {
        while requests.writes() < write {
            let Ok(event) = tokio::time::timeout(PATIENCE, watcher.next()).await else { break };
            self.observe(life, event?.as_ref()).await?;
        }
        Ok(())
    }

    /// Waits until every cluster is as wanted and nobody works, and then demands that nothing is written any more.
    async fn settle(&mut self, life: &Life, requests: &Requests, watcher: &mut Watcher) -> Result<()> {
        let end = life.clock.monotonic() + LIMIT;
        self.become_as_wanted(life, watcher, end).await?;
        if !self.script.deliveries.is_empty() {
            self.pass(life, watcher, QUIET).await?;
            self.become_as_wanted(life, watcher, end).await?;
        }
        let before = requests.writes();
        self.pass(life, watcher, QUIET).await?;
        let trace = requests.trace();
        let since = usize::try_from(before).unwrap_or_default().min(trace.len());
        ensure!(requests.writes() == before, "written at rest: {}", trace[since..].join(", "));
        let missing = self.missing();
        ensure!(missing.is_empty(), "at rest, it did not stay as wanted:\n{}", missing.join("\n"));
        Ok(())
    }

    async fn become_as_wanted(&mut self, life: &Life, watcher: &mut Watcher, end: Instant) -> Result<()> {
        loop {
            let event = tokio::time::timeout(REST, watcher.next()).await;
            let is_silent = event.is_err();
            if let Ok(event) = event {
                self.observe(life, event?.as_ref()).await?;
            }
            if is_silent && life.manager.is_idle(REST) && self.missing().is_empty() {
                return Ok(());
            }
            if life.clock.monotonic() > end {
                bail!("not as wanted in {} s:\n{}", LIMIT.as_secs(), self.missing().join("\n"));
            }
        }
    }

    /// Returns what is missing until every cluster is as wanted.
    fn missing(&self) -> Vec<String> {
        self.wanted.iter().flat_map(|wanted| wanted.missing(self.invariants.view())).collect()
    }

    /// Checks a change, and lets new machines hang as planned.
    async fn observe(&mut self, life: &Life, event: &Event) -> Result<()> {
        self.invariants.observe_event(life.clock.now(), event);
        let key = event.key().as_str();
        if let Some(first) = self.invariants.violations().first() {
            bail!("{first}");
        }
        if key.contains("/devmachines/") && self.known.insert(key.to_owned()) {
            self.hang(life, key.to_owned()).await?;
        }
        Ok(())
    }

    async fn hang(&mut self, life: &Life, key: String) -> Result<()> {
        let Some(machine) = self.invariants.get(&key) else { return Ok(()) };
        let Some(number) = self.wanted.iter().position(|wanted| wanted.has(machine)) else { return Ok(()) };
        let left = self.hanging.get(&number).copied().unwrap_or_default();
        if left > 0 {
            self.hanging.insert(number, left - 1);
            User::new(life).annotate(&path_of(&key), json!({HANGS: ""})).await?;
        }
        Ok(())
    }

    /// Creates the namespaces, and objects that belong to nobody.
    async fn prepare(&mut self, life: &Life) -> Result<()> {
        let user = User::new(life);
        let namespaces: BTreeSet<&str> = self.wanted.iter().map(|wanted| wanted.shape.namespace).collect();
        for namespace in namespaces {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            user.create("/api/v1/namespaces", &object).await?;
            for (collection, object) in super::actions::foreign(namespace) {
                user.create(&collection, &object).await?;
            }
        }
        Ok(())
    }

    /// Cuts the connections again that the last life of the process had cut.
    fn restore_cuts(&self, life: &Life) {
        for number in &self.cut {
            if let Some(port) = self.port(*number) {
                life.network.cut(port);
            }
        }
    }

    /// Returns the port of a cluster's API server.
    pub(super) fn port(&self, number: usize) -> Option<u16> {
        let infrastructure =
            self.invariants.get(&self.wanted[number].infrastructure(self.invariants.view()))?;
        u16::try_from(infrastructure["spec"]["controlPlaneEndpoint"]["port"].as_u64()?).ok()
    }

    /// Returns the keys of the Machines of a cluster, those of the control plane or the workers.
    pub(super) fn machines(&self, number: usize, of_control_plane: bool) -> Vec<String> {
        let label = "cluster.x-k8s.io/control-plane";
        let machines = self.wanted[number].objects(self.invariants.view(), "Machine");
        machines
            .filter(|(_, machine)| machine["metadata"]["labels"][label].is_string() == of_control_plane)
            .map(|(key, _)| key.to_owned())
            .collect()
    }

    /// Returns the key of the DevMachine of a Machine.
    pub(super) fn infrastructure(&self, machine: &str) -> Option<String> {
        let machine = self.invariants.get(machine)?;
        let (namespace, name) = (namespace(machine), name(machine));
        Some(format!("/registry/infrastructure.cluster.x-k8s.io/devmachines/{namespace}/{name}"))
    }
}
