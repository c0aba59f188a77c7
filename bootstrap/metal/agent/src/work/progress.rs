//! The state of the latest instruction, and how much of it the server has received.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_protocol::{Progress, Report, State};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::journal::Journal;

/// The largest number of log lines in a report.
const LINES_MAX: usize = 500;

/// The data to report.
pub struct Reporter {
    journal: Journal,
    now: Mutex<Now>,
    /// Counts changes; a report contains all changes up to its number.
    changes: AtomicU64,
    known: watch::Sender<u64>,
    /// Notified when an instruction or its state changes.
    turned: Notify,
}

#[derive(Default, Clone)]
struct Now {
    progress: Option<Progress>,
    inventory: Option<Value>,
    /// The last change and the last log line in the latest report.
    sent: (u64, u64),
}

impl Reporter {
    /// Returns an empty state.
    pub fn new(journal: Journal) -> Self {
        Self {
            journal,
            now: Mutex::default(),
            changes: AtomicU64::new(0),
            known: watch::channel(0).0,
            turned: Notify::new(),
        }
    }

    /// Sets the progress of an instruction, and the inventory after an inspection.
    pub fn set(&self, progress: Progress, inventory: Option<Value>) {
        let mut now = self.now.lock();
        let same_state =
            now.progress.as_ref().is_some_and(|old| old.state == progress.state && old.id == progress.id);
        now.progress = Some(progress);
        now.inventory = inventory.or(now.inventory.take());
        self.changes.fetch_add(1, Ordering::SeqCst);
        drop(now);
        // A change of byte counts is sent with the next report; another state is sent at once.
        if !same_state {
            self.journal.wake();
            self.turned.notify_one();
        }
    }

    /// Returns the current report.
    pub fn report(&self) -> Report {
        let mut now = self.now.lock();
        let (log, line) = self.journal.oldest(LINES_MAX);
        now.sent = (self.changes.load(Ordering::SeqCst), line);
        Report { instruction: now.progress.clone(), inventory: now.inventory.clone(), log }
    }

    /// Records that the server has received the report.
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
        // While bytes are being written, every report has news, so there is nothing to wait for.
        let running =
            self.now.lock().progress.as_ref().is_some_and(|p| p.state == State::Running && p.total > 0);
        if !running {
            self.journal.news().await;
        }
    }

    /// Waits until an instruction or its state changes.
    pub async fn turned(&self) {
        self.turned.notified().await;
    }

    /// Waits until the server has received all changes up to now, at most `time`.
    pub async fn known(&self, time: Duration) {
        let wanted = self.changes.load(Ordering::SeqCst);
        let mut known = self.known.subscribe();
        let wait = known.wait_for(|known| *known >= wanted);
        // A server that cannot be reached must not delay a restart.
        let _ = tokio::time::timeout(time, wait).await;
    }
}
