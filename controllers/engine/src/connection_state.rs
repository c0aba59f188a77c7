//! The state of the connection to a workload cluster, and when it is told why there is none. Pure.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

/// Attempts must have failed for this time before conditions and the log say why: nothing listens at the endpoint of a cluster whose first
/// machine is only starting.
const TELL_AFTER: Duration = Duration::from_secs(10);

/// The state of the connection to a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether there is a connected client.
    pub connected: bool,
    /// When the API server last answered a probe.
    pub last_success: Option<DateTime<Utc>>,
    /// Number of probes and connection attempts that failed since then.
    pub failures: u32,
}

/// The connection to a cluster.
pub struct State<W> {
    /// The connected client.
    pub workload: Option<Arc<W>>,
    /// What is told about the connection.
    pub health: Health,
    /// Why there is no connection, if that has lasted.
    pub problem: Option<String>,
    /// When the first of the failed attempts failed, and the cause of the last one.
    pub failing: Option<(Instant, String)>,
}

impl<W> Default for State<W> {
    fn default() -> Self {
        Self { workload: None, health: Health::default(), problem: None, failing: None }
    }
}

impl<W> State<W> {
    /// Counts a failed attempt at `now`. Returns whether [`State::problem`] has changed.
    pub fn fail(&mut self, cause: String, is_told_at_once: bool, now: Instant) -> bool {
        self.health.failures = self.health.failures.saturating_add(1);
        let last =
            self.failing.replace((self.failing.as_ref().map_or(now, |(since, _)| *since), cause.clone()));
        let lasts = last.as_ref().is_some_and(|(since, _)| now - *since >= TELL_AFTER);
        if !is_told_at_once && !lasts {
            return self.problem.take().is_some();
        }
        // Two causes that take turns would otherwise change the conditions at each attempt.
        let is_new = self.problem.is_none() || is_told_at_once || last.is_some_and(|(_, last)| last == cause);
        if !is_new || self.problem.as_ref() == Some(&cause) {
            return false;
        }
        self.problem = Some(cause);
        true
    }
}
