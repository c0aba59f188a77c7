//! The goal of `up` and `wait`, and the time that its steps took.

use std::time::Duration;

use clap::ValueEnum;
use machinery::clock::Clock;
use serde_json::Value;
use tokio::time::Instant;

use crate::tree::conditions::is_paused;
use crate::tree::model::{Objects, entries, key_of, replicas};
use crate::tree::pools;
pub use crate::tree::render::seconds;
use crate::tree::rest::{all_at_rest, all_available, all_have};

/// The state of the clusters for which a command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// Every Cluster is Available: it serves its API and has enough machines
    Available,
    /// Every Cluster has all its machines, and each of them is Ready
    Complete,
}

impl Goal {
    /// Returns the goal as a word for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Available => "Available",
            Self::Complete => "complete",
        }
    }

    /// Returns whether the clusters have reached the goal.
    pub fn is_reached(self, objects: &Objects) -> bool {
        match self {
            Self::Available => all_available(objects),
            Self::Complete => all_at_rest(objects),
        }
    }
}

/// The steps that come before Available, by the condition of the Clusters that reports each of them.
const STEPS: [(&str, &str); 3] = [
    ("infrastructure", "InfrastructureReady"),
    ("control plane", "ControlPlaneInitialized"),
    ("workers", "WorkersAvailable"),
];

/// Records since when each step is done in all clusters.
pub struct Timeline {
    start: Instant,
    steps: [Option<Duration>; STEPS.len()],
}

impl Timeline {
    /// Starts the measurement.
    pub fn new(clock: &Clock) -> Self {
        Self { start: clock.monotonic(), steps: [None; STEPS.len()] }
    }

    /// Records the steps that are done; returns whether the goal is reached.
    pub fn reaches(&mut self, goal: Goal, objects: &Objects) -> bool {
        let elapsed = self.elapsed();
        for (step, (_, condition_type)) in self.steps.iter_mut().zip(STEPS) {
            // Conditions can be true for a moment at the beginning, when nothing is wanted yet.
            *step = all_have(objects, condition_type).then(|| step.unwrap_or(elapsed));
        }
        goal.is_reached(objects)
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the line about Available clusters, for example `Available after 4.4s: infrastructure 0.3s, control plane 4.1s.`
    pub fn available(&self) -> String {
        let done = self.steps.iter().zip(STEPS).filter_map(|(step, (name, _))| Some((name, (*step)?)));
        let steps: Vec<String> = done.map(|(name, time)| format!("{name} {}", seconds(time))).collect();
        let colon = if steps.is_empty() { "" } else { ": " };
        format!("Available after {}{colon}{}.\n", seconds(self.elapsed()), steps.join(", "))
    }
}

/// Returns the objects that are not Available yet, each on a line, and those that no controller has confirmed.
pub fn missing(objects: &Objects) -> String {
    let entries = entries(objects);
    let waiting = entries.iter().filter(|entry| !entry.causes.is_empty());
    let lines = waiting.map(|entry| format!("  {}: {}", entry.key, entry.causes.join("; ")));
    let is_shown = |key: &String| entries.iter().any(|entry| entry.key == *key && !entry.causes.is_empty());
    let unconfirmed = objects.unconfirmed.unconfirmed.iter().map(|one| (key_of(one), &one.cause));
    let unconfirmed = unconfirmed.filter(|(key, _)| !is_shown(key));
    let lines = lines.chain(unconfirmed.map(|(key, cause)| format!("  {key}: {cause}")));
    let lines: Vec<String> = lines.map(|line| terminal::line(&line).into_owned()).collect();
    if lines.is_empty() { "  there is no Cluster; apply one with -f".to_owned() } else { lines.join("\n") }
}

/// Returns lines about clusters that reached a goal in another way than the others: paused ones, of which only an earlier status is known,
/// and MachinePools without Machines.
pub fn notes(objects: &Objects) -> String {
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        [&metadata["namespace"], &metadata["name"]].map(|text| text.as_str().unwrap_or_default()).join("/")
    };
    let paused = objects.clusters.iter().filter(|cluster| is_paused(cluster));
    let paused = paused.map(|cluster| {
        format!(
            "Cluster {} is paused: nothing of it is reconciled, and this is its last known status.\n",
            name(cluster)
        )
    });
    let is_alone = |pool: &&Value| !objects.machines.iter().any(|machine| pools::owns(pool, machine));
    let pools = objects.machine_pools.iter().filter(is_alone);
    let pools = pools.map(|pool| {
        format!(
            "MachinePool {} has no Machines: the status of the pool counts ({}).\n",
            name(pool),
            replicas(pool)
        )
    });
    paused.chain(pools).collect()
}
