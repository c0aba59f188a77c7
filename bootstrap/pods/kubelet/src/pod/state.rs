//! What is known about the containers of a Pod.

use chrono::{DateTime, Utc};

/// A container with everything that happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Whether it is an init container, which runs to its end before the others start.
    pub is_init: bool,
    /// What it does now.
    pub phase: Phase,
    /// How often it was started again.
    pub restarts: i32,
    /// Its end before the last start.
    pub last: Option<Termination>,
    /// The digest of its image.
    pub image_id: Option<String>,
    /// The failure of its image, until that is there.
    pub failed_pull: Option<FailedPull>,
}

/// An image that could not be pulled.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedPull {
    /// How often it was tried.
    pub tries: u32,
    /// It is not tried again before this time.
    pub until: DateTime<Utc>,
    /// Why the last try failed.
    pub message: String,
}

/// What a container does.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// It does not run.
    Waiting {
        /// The reason, in Kubernetes' words.
        reason: String,
        /// The message for the user.
        message: String,
        /// It is not started before this time.
        until: Option<DateTime<Utc>>,
    },
    /// It runs.
    Running {
        /// Since when.
        since: DateTime<Utc>,
        /// Whether its start-up probe succeeded; true without one.
        started: bool,
        /// Whether its readiness probe succeeds; true without one once it has started.
        ready: bool,
    },
    /// It has ended.
    Terminated(Termination),
}

/// The end of a container's process.
#[derive(Clone, Debug, PartialEq)]
pub struct Termination {
    /// The exit code.
    pub code: i32,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// `Completed`, `Error`, or why it was ended.
    pub reason: String,
    /// The termination message.
    pub message: String,
    /// When it was started.
    pub started: DateTime<Utc>,
    /// When it ended.
    pub finished: DateTime<Utc>,
}

impl State {
    /// Returns a container that was never started.
    pub fn new(name: &str, is_init: bool) -> Self {
        let reason = if is_init { "PodInitializing" } else { "ContainerCreating" };
        Self {
            name: name.to_owned(),
            is_init,
            phase: Phase::Waiting { reason: reason.to_owned(), message: String::new(), until: None },
            restarts: 0,
            last: None,
            image_id: None,
            failed_pull: None,
        }
    }

    /// Returns whether it has ended with success.
    pub fn has_succeeded(&self) -> bool {
        matches!(&self.phase, Phase::Terminated(end) if end.code == 0)
    }
}
