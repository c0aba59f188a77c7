//! The data that the process keeps about hosts between reconciles. After a restart the power is read again, and a failure is retried at
//! once.

use std::collections::HashMap;
use std::time::Duration;

use bmc::Power;
use chrono::{DateTime, Utc};
use engine::NamespacedName;
use parking_lot::Mutex;

use crate::control::Fault;
use crate::limits;

/// The data by host.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<NamespacedName, Remembered>>);

#[derive(Default)]
struct Remembered {
    uid: String,
    power: Option<(DateTime<Utc>, Result<Power, Fault>)>,
    /// The time of the last power cut: an agent whose last report is earlier is gone.
    cut: Option<DateTime<Utc>>,
    /// The fingerprint of a failure's inputs, and the time of the retry.
    retry: Option<(u64, DateTime<Utc>)>,
}

impl Memory {
    /// Removes the data of an earlier host of this name: another machine may be behind it.
    pub fn meet(&self, host: &NamespacedName, uid: &str) {
        let mut remembered = self.0.lock();
        if remembered.get(host).is_none_or(|found| found.uid != uid) {
            remembered.insert(host.clone(), Remembered { uid: uid.to_owned(), ..Remembered::default() });
        }
    }

    /// Removes the data of a deleted host.
    pub(super) fn forget(&self, host: &NamespacedName) {
        self.0.lock().remove(host);
    }

    /// Returns the power state if it was read less than [`limits::POWER_CHANGE`] ago.
    pub fn power(&self, host: &NamespacedName, now: DateTime<Utc>) -> Option<Result<Power, Fault>> {
        let remembered = self.0.lock();
        let (at, power) = remembered.get(host)?.power.as_ref()?;
        let age = (now - *at).to_std().unwrap_or_default();
        (age < limits::POWER_CHANGE).then(|| power.clone())
    }

    /// Records a power state that was read.
    pub fn note_power(&self, host: &NamespacedName, now: DateTime<Utc>, power: Result<Power, Fault>) {
        self.0.lock().entry(host.clone()).or_default().power = Some((now, power));
    }

    /// Records that a command was sent to the machine, which invalidates the known power state.
    pub fn note_command(&self, host: &NamespacedName, now: DateTime<Utc>, cuts: bool) {
        let mut remembered = self.0.lock();
        let remembered = remembered.entry(host.clone()).or_default();
        remembered.power = None;
        if cuts {
            remembered.cut = Some(now);
        }
    }

    /// Returns the time of the last power cut.
    pub fn cut(&self, host: &NamespacedName) -> Option<DateTime<Utc>> {
        self.0.lock().get(host)?.cut
    }

    /// Records a failure with the inputs `fingerprint`, which is retried at `at`.
    pub fn note_failure(&self, host: &NamespacedName, fingerprint: u64, at: DateTime<Utc>) {
        self.0.lock().entry(host.clone()).or_default().retry = Some((fingerprint, at));
    }

    /// Removes a recorded failure.
    pub(super) fn note_success(&self, host: &NamespacedName) {
        if let Some(remembered) = self.0.lock().get_mut(host) {
            remembered.retry = None;
        }
    }

    /// Returns how long to wait before the retry of a failure; `None` if none is due or the inputs differ from `fingerprint`.
    pub fn wait(&self, host: &NamespacedName, fingerprint: u64, now: DateTime<Utc>) -> Option<Duration> {
        let remembered = self.0.lock();
        let (failed, at) = remembered.get(host)?.retry?;
        let left = (at - now).to_std().ok().filter(|left| !left.is_zero())?;
        (failed == fingerprint).then_some(left)
    }
}
