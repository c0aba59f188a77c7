//! What is known about the containers of a Pod.

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::{Container, Pod};

use crate::needs::containers;

/// A container with everything that happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Whether it is an init container, which runs to its end before the others start.
    pub is_init: bool,
    /// Whether it is an init container that keeps running beside the others (`restartPolicy: Always`).
    pub is_sidecar: bool,
    /// Its hook `postStart`, which the later containers wait for.
    pub hook: Hook,
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

/// What became of the hook `postStart` of the last start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// The hook has succeeded, or the container has no hook.
    #[default]
    Done,
    /// It has not ended yet.
    Runs,
    /// It failed for this reason, so the container is ended.
    Failed(String),
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
            is_sidecar: false,
            hook: Hook::Done,
            phase: Phase::Waiting { reason: reason.to_owned(), message: String::new(), until: None },
            restarts: 0,
            last: None,
            image_id: None,
            failed_pull: None,
        }
    }

    /// Returns the states of the containers of a Pod that were never started, the init containers first.
    pub fn all(pod: &Pod) -> Vec<Self> {
        let new = |(container, is_init): (&Container, bool)| Self {
            is_sidecar: is_init && container.restart_policy.as_deref() == Some("Always"),
            ..Self::new(&container.name, is_init)
        };
        containers(pod).map(new).collect()
    }

    /// Returns whether an init container leaves the next ones their turn: it has succeeded, or it is a sidecar that has started.
    pub fn is_initialized(&self) -> bool {
        let has_started = matches!(self.phase, Phase::Running { started: true, .. });
        if self.is_sidecar { has_started && self.hook == Hook::Done } else { self.has_succeeded() }
    }

    /// Returns whether it was started by this server.
    pub fn was_started(&self) -> bool {
        !matches!(self.phase, Phase::Waiting { .. }) || self.last.is_some()
    }

    /// Returns whether it runs.
    pub fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    /// Returns whether it has ended with success.
    pub fn has_succeeded(&self) -> bool {
        matches!(&self.phase, Phase::Terminated(end) if end.code == 0)
    }
}
