//! What the process remembers of hosts between reconciles. Lost with it: then the power is read anew, and a failure is tried again at once.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use parking_lot::Mutex;

use crate::control::{Fault, Power};
use crate::limits;

/// What is remembered, by host.
#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<NamespacedName, Remembered>>);

#[derive(Default)]
struct Remembered {
    power: Option<(DateTime<Utc>, Result<Power, Fault>)>,
    /// When the power was cut last: agents that were heard before it are gone.
    cut: Option<DateTime<Utc>>,
    /// What a failure came from, and when it is tried again.
    retry: Option<(u64, DateTime<Utc>)>,
}

impl Memory {
    /// The host is no longer there.
    pub(super) fn forget(&self, host: &NamespacedName) {
        self.0.lock().remove(host);
    }

    /// The power as it was read a moment ago.
    pub(super) fn power(&self, host: &NamespacedName, now: DateTime<Utc>) -> Option<Result<Power, Fault>> {
        let remembered = self.0.lock();
        let (at, power) = remembered.get(host)?.power.as_ref()?;
        let age = (now - *at).to_std().unwrap_or_default();
        (age < limits::POWER_CHANGE).then(|| power.clone())
    }

    /// The power was read.
    pub(super) fn note_power(&self, host: &NamespacedName, now: DateTime<Utc>, power: Result<Power, Fault>) {
        self.0.lock().entry(host.clone()).or_default().power = Some((now, power));
    }

    /// Something was done to the machine: what was read before does not hold.
    pub(super) fn note_command(&self, host: &NamespacedName, now: DateTime<Utc>, cuts: bool) {
        let mut remembered = self.0.lock();
        let remembered = remembered.entry(host.clone()).or_default();
        remembered.power = None;
        if cuts {
            remembered.cut = Some(now);
        }
    }

    /// When the power was cut last.
    pub(super) fn cut(&self, host: &NamespacedName) -> Option<DateTime<Utc>> {
        self.0.lock().get(host)?.cut
    }

    /// A failure whose causes were `fingerprint` is tried again at `at`.
    pub(super) fn note_failure(&self, host: &NamespacedName, fingerprint: u64, at: DateTime<Utc>) {
        self.0.lock().entry(host.clone()).or_default().retry = Some((fingerprint, at));
    }

    /// It works.
    pub(super) fn note_success(&self, host: &NamespacedName) {
        if let Some(remembered) = self.0.lock().get_mut(host) {
            remembered.retry = None;
        }
    }

    /// How long a failure is still waited out; not at all once something else than `fingerprint` is there.
    pub(super) fn wait(
        &self,
        host: &NamespacedName,
        fingerprint: u64,
        now: DateTime<Utc>,
    ) -> Option<Duration> {
        let remembered = self.0.lock();
        let (failed, at) = remembered.get(host)?.retry?;
        let left = (at - now).to_std().ok().filter(|left| !left.is_zero())?;
        (failed == fingerprint).then_some(left)
    }
}
