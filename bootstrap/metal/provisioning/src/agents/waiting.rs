//! Who asks to be let in and is not: those that wait for a person, and what was told of them. Bounded, and forgotten. Pure.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Duration, Utc};

use crate::limits;

/// The machines that wait for a person's approval, one for each host.
#[derive(Debug, Default)]
pub struct Waiting(HashMap<String, (String, DateTime<Utc>)>);

impl Waiting {
    /// A machine asks under the name of a host's. The first that asks keeps its place for as long as it goes on: a person approves one that
    /// they saw, and nobody takes its place meanwhile.
    pub fn note(&mut self, name: &str, certificate: &str, now: DateTime<Utc>) {
        self.forget_the_silent(now);
        let place = self.0.entry(name.to_owned()).or_insert_with(|| (certificate.to_owned(), now));
        if place.0 == certificate {
            place.1 = now;
        }
    }

    /// Whether the one with this certificate waits.
    pub fn is_waiting(&self, name: &str, certificate: &str) -> bool {
        self.0.get(name).is_some_and(|(waits, _)| waits == certificate)
    }

    /// Whether anybody waits.
    pub fn is_anybody(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Nobody waits any more.
    pub fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Those that did not ask for a while have gone.
    pub fn forget_the_silent(&mut self, now: DateTime<Utc>) {
        self.0.retain(|_, (_, asked)| now - *asked < limits::duration(limits::APPROVAL_WAITS));
    }
}

/// What was told lately, so that nobody fills the API with events.
#[derive(Debug, Default)]
pub struct Alerts(BTreeMap<(String, String), DateTime<Utc>>);

impl Alerts {
    /// Notes that something is to be told. Whether it is told now: not when it was a moment ago.
    pub fn note(&mut self, name: &str, reason: &str, now: DateTime<Utc>) -> bool {
        let pause: Duration = limits::duration(limits::ALERT);
        if self.0.len() >= limits::ALERTS {
            self.0.retain(|_, told| now - *told < pause);
        }
        let key = (name.to_owned(), reason.to_owned());
        let is_new = self.0.get(&key).is_none_or(|told| now - *told >= pause);
        if is_new && (self.0.len() < limits::ALERTS || self.0.contains_key(&key)) {
            self.0.insert(key, now);
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use machinery::clock::parse_rfc3339;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::seconds(seconds)
    }

    #[test]
    fn who_waits_first_keeps_the_place_while_it_asks() {
        let mut waiting = Waiting::default();
        waiting.note("a", "first", at(0));
        waiting.note("a", "second", at(1));
        waiting.note("a", "first", at(50));
        waiting.note("a", "second", at(70));
        assert!(waiting.is_waiting("a", "first") && !waiting.is_waiting("a", "second"));
        waiting.note("a", "second", at(110));
        assert!(waiting.is_waiting("a", "second") && waiting.is_anybody("a") && !waiting.is_anybody("b"));
        waiting.forget("a");
        assert!(!waiting.is_anybody("a"));
    }

    #[test]
    fn the_same_is_told_once_a_minute_and_not_of_everybody() {
        let mut alerts = Alerts::default();
        for (seconds, reason, expected) in
            [(0, "x", true), (1, "x", false), (1, "y", true), (59, "x", false), (60, "x", true)]
        {
            assert_eq!(alerts.note("a", reason, at(seconds)), expected, "{seconds} {reason}");
        }
        let told = (0..limits::ALERTS + 10).filter(|name| alerts.note(&name.to_string(), "x", at(61)));
        assert!((limits::ALERTS - 2..=limits::ALERTS).contains(&told.count()));
        assert!(alerts.note("later", "x", at(200)));
    }
}
