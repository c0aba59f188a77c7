//! Machines that ask to enrol and are refused: the list of those that wait for an approval, and a limit for events about them. Bounded,
//! with expiry. Pure.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Duration, Utc};

use crate::limits;

/// The machines that wait for a person's approval: at most one for each host.
#[derive(Debug, Default)]
pub struct Waiting(HashMap<String, (String, DateTime<Utc>)>);

impl Waiting {
    /// Notes that a machine asks to enrol under the name of a host's machine. The first machine keeps its place as long as it keeps
    /// asking, so that no other machine can take the place between a person's look and their approval.
    pub fn note(&mut self, name: &str, certificate: &str, now: DateTime<Utc>) {
        self.forget_the_silent(now);
        let place = self.0.entry(name.to_owned()).or_insert_with(|| (certificate.to_owned(), now));
        if place.0 == certificate {
            place.1 = now;
        }
    }

    /// Returns whether the machine with this certificate waits under this name.
    pub fn is_waiting(&self, name: &str, certificate: &str) -> bool {
        self.0.get(name).is_some_and(|(waits, _)| waits == certificate)
    }

    /// Returns whether any machine waits under this name.
    pub fn is_anybody(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Removes the machine that waits under this name.
    pub fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Removes machines that have not asked for [`limits::APPROVAL_WAITS`].
    pub fn forget_the_silent(&mut self, now: DateTime<Utc>) {
        self.0.retain(|_, (_, asked)| now - *asked < limits::duration(limits::APPROVAL_WAITS));
    }
}

/// The events that were reported recently, so that no machine can fill the API with events.
#[derive(Debug, Default)]
pub struct Alerts(BTreeMap<(String, String), DateTime<Utc>>);

impl Alerts {
    /// Notes a warning about the machine `name`. Returns `Ok` if it must be reported now.
    ///
    /// # Errors
    /// The name of the limit that is reached: the same warning was reported a moment ago, or too many warnings are remembered.
    pub fn note(&mut self, name: &str, reason: &str, now: DateTime<Utc>) -> Result<(), &'static str> {
        let pause: Duration = limits::duration(limits::ALERT);
        if self.0.len() >= limits::ALERTS {
            self.0.retain(|_, told| now - *told < pause);
        }
        let key = (name.to_owned(), reason.to_owned());
        match self.0.get(&key) {
            Some(told) if now - *told < pause => Err("netboot_alert"),
            None if self.0.len() >= limits::ALERTS => Err("netboot_alerts"),
            _ => {
                self.0.insert(key, now);
                Ok(())
            }
        }
    }
}
