//! The phases of a run: their progress, and how long each takes.

use std::sync::Arc;

use machinery::clock::Clock;
use parking_lot::Mutex;

use crate::progress::{Phase, Progress};

pub(super) struct Phases {
    clock: Clock,
    progress: Arc<dyn Progress>,
    seconds: Mutex<Vec<(Phase, f64)>>,
}

impl Phases {
    pub(super) fn new(clock: Clock, progress: Arc<dyn Progress>) -> Self {
        Self { clock, progress, seconds: Mutex::default() }
    }

    pub(super) fn at(&self, phase: Phase, done: usize, total: usize) {
        self.progress.at(phase, done, total);
    }

    pub(super) fn waits_for(&self, objects: &[String], annotation: &str) {
        self.progress.waits_for(objects, annotation);
    }

    /// Does the work of a phase, which may be done in several parts.
    pub(super) async fn during<T>(&self, phase: Phase, work: impl Future<Output = T>) -> T {
        self.at(phase, 0, 0);
        let began = self.clock.monotonic();
        let outcome = work.await;
        let took = (self.clock.monotonic() - began).as_secs_f64();
        let mut seconds = self.seconds.lock();
        match seconds.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, sum)) => *sum += took,
            None => seconds.push((phase, took)),
        }
        outcome
    }

    /// Returns the duration of each phase in seconds.
    pub(super) fn into_seconds(self) -> Vec<(Phase, f64)> {
        self.seconds.into_inner()
    }
}
