//! How the newest instruction fares, and what of that the server knows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_protocol::{Progress, Report, State};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::journal::Journal;

/// Lines of the log in one report.
const LINES_MAX: usize = 500;

/// What there is to report.
pub struct Reporter {
    journal: Journal,
    now: Mutex<Now>,
    /// Counts changes; a report carries the changes up to its number.
    changes: AtomicU64,
    known: watch::Sender<u64>,
    /// There is another state.
    turned: Notify,
}

#[derive(Default, Clone)]
struct Now {
    progress: Option<Progress>,
    inventory: Option<Value>,
    /// Up to which change and which line of the log the newest report goes.
    sent: (u64, u64),
}

impl Reporter {
    /// Nothing to report yet.
    pub fn new(journal: Journal) -> Self {
        Self {
            journal,
            now: Mutex::default(),
            changes: AtomicU64::new(0),
            known: watch::channel(0).0,
            turned: Notify::new(),
        }
    }

    /// An instruction fares so; together with what the machine has, when it has been looked at.
    pub fn set(&self, progress: Progress, inventory: Option<Value>) {
        let mut now = self.now.lock();
        let same_state =
            now.progress.as_ref().is_some_and(|old| old.state == progress.state && old.id == progress.id);
        now.progress = Some(progress);
        now.inventory = inventory.or(now.inventory.take());
        self.changes.fetch_add(1, Ordering::SeqCst);
        drop(now);
        // Bytes that are done are told with the next report; another state is news, and told at once.
        if !same_state {
            self.journal.wake();
            self.turned.notify_one();
        }
    }

    /// The report of now.
    pub fn report(&self) -> Report {
        let mut now = self.now.lock();
        let (log, line) = self.journal.oldest(LINES_MAX);
        now.sent = (self.changes.load(Ordering::SeqCst), line);
        Report { instruction: now.progress.clone(), inventory: now.inventory.clone(), log }
    }

    /// The server has the report.
    pub fn reported(&self, report: &Report) {
        let mut now = self.now.lock();
        if now.inventory == report.inventory {
            now.inventory = None;
        }
        let (change, line) = now.sent;
        drop(now);
        self.journal.forget(line);
        self.known.send_replace(change);
    }

    /// Waits until there is something to report.
    pub async fn news(&self) {
        // While bytes are being written, each report has news.
        let running =
            self.now.lock().progress.as_ref().is_some_and(|p| p.state == State::Running && p.total > 0);
        if !running {
            self.journal.news().await;
        }
    }

    /// Waits until an instruction fares in another way than when this was last waited for.
    pub async fn turned(&self) {
        self.turned.notified().await;
    }

    /// Waits until the server knows how things stand now, at most `time`.
    pub async fn known(&self, time: Duration) {
        let wanted = self.changes.load(Ordering::SeqCst);
        let mut known = self.known.subscribe();
        let wait = known.wait_for(|known| *known >= wanted);
        // A server that cannot be told does not hold up a restart.
        let _ = tokio::time::timeout(time, wait).await;
    }
}

#[cfg(test)]
mod tests {
    use machinery::clock::Clock;
    use serde_json::json;

    use super::*;

    fn progress(state: State) -> Progress {
        Progress { id: "1".into(), state, message: String::new(), done: 0, total: 0 }
    }

    #[tokio::test]
    async fn an_inventory_is_reported_until_the_server_has_it() {
        let reporter = Reporter::new(Journal::new(Clock::system()));
        reporter.set(progress(State::Running), None);
        reporter.set(progress(State::Done), Some(json!({"hostname": "a"})));
        let lost = reporter.report();
        assert!(lost.inventory.is_some());
        let report = reporter.report();
        assert!(report.inventory.is_some());
        reporter.reported(&report);
        reporter.known(Duration::from_secs(60)).await;
        let next = reporter.report();
        assert_eq!((next.inventory, next.instruction), (None, Some(progress(State::Done))));
    }

    #[tokio::test]
    async fn another_state_is_told_at_once_and_bytes_are_not() {
        let reporter = Reporter::new(Journal::new(Clock::system()));
        let is_told = async || tokio::time::timeout(Duration::ZERO, reporter.turned()).await.is_ok();
        reporter.set(progress(State::Running), None);
        assert!(is_told().await);
        reporter.set(Progress { done: 7, ..progress(State::Running) }, None);
        assert!(!is_told().await);
        reporter.set(progress(State::Done), None);
        assert!(is_told().await && !is_told().await);
    }
}
