//! The goal of `up` and `wait`, and the time that its steps took.

use std::time::Duration;

use clap::ValueEnum;
use machinery::clock::Clock;
use tokio::time::Instant;

use crate::tree::model::{Objects, entries};
use crate::tree::rest::{all_at_rest, all_available, all_have};

/// The state of the clusters for which a command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// Every Cluster is Available: it serves its API and has enough machines
    Available,
    /// Every Cluster has all its machines, each with its Node
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

/// Returns a duration in a form like `0.3s`, `42s`, `3m12s`.
pub fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        10..120 => format!("{}s", duration.as_secs()),
        whole => format!("{}m{}s", whole / 60, whole % 60),
    }
}

/// Returns the objects that are not Available yet, each on a line.
pub fn missing(objects: &Objects) -> String {
    let waiting = entries(objects).into_iter().filter(|entry| !entry.causes.is_empty());
    let lines: Vec<String> =
        waiting.map(|entry| format!("  {}: {}", entry.key, entry.causes.join("; "))).collect();
    if lines.is_empty() { "  there is no Cluster; apply one with -f".to_owned() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_step_has_its_time() {
        let clock = Clock::simulated(chrono::DateTime::UNIX_EPOCH);
        let mut timeline = Timeline::new(&clock);
        let cluster = |done: &[&str]| {
            let conditions: Vec<_> =
                done.iter().map(|name| json!({"type": name, "status": "True"})).collect();
            Objects { clusters: vec![json!({"status": {"conditions": conditions}})], ..Objects::default() }
        };
        assert!(!timeline.reaches(Goal::Available, &cluster(&["WorkersAvailable"])));
        let mut done = Vec::new();
        for condition in ["InfrastructureReady", "ControlPlaneInitialized", "WorkersAvailable"] {
            tokio::time::advance(Duration::from_millis(6500)).await;
            done.push(condition);
            assert!(!timeline.reaches(Goal::Available, &cluster(&done)));
        }
        done.push("Available");
        assert!(timeline.reaches(Goal::Available, &cluster(&done)));
        let expected = "Available after 19s: infrastructure 6.5s, control plane 13s, workers 19s.\n";
        assert_eq!(timeline.available(), expected);
    }
}
