//! Invariants that are checked at every change of every object, for every interruption of the controllers.
//!
//! Each rule is a pure function of the [`View`] and of a change. A rule that compares an object with the demands of another one tolerates
//! that the controllers may still act on
//! the demands of the last 30 s.

mod availability;
mod health;
mod object;
mod quorum;
mod reasons;
mod rest;
mod surge;
mod untouched;
mod view;

use std::collections::BTreeSet;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use store::{Event, EventKind, Page, Prefix, Store, Watcher};

pub use object::{annotation, is_deleting, label, name, namespace};
pub use rest::{conditions_at_rest, is_true};
pub use untouched::FOREIGN;
pub use view::{Change, View};

/// A rule: says in words what a change violates. The view has the state after the change.
type Rule = fn(&View, &Change<'_>) -> Option<String>;

const RULES: [Rule; 11] = [
    surge::of_a_set,
    surge::of_an_owner,
    surge::of_a_scale_up,
    surge::of_one_template,
    quorum::one_at_a_time,
    quorum::of_etcd,
    reasons::of_a_deletion,
    availability::of_workers,
    health::too_many_are_left_alone,
    untouched::what_is_not_ours,
    untouched::while_paused,
];

/// Follows all changes and records violations.
#[derive(Default)]
pub struct Invariants {
    view: View,
    violations: Vec<String>,
    changes: u64,
}

impl Invariants {
    /// Records that an object was written (`Some`) or removed (`None`) at `now`.
    pub fn observe(&mut self, now: DateTime<Utc>, key: &str, object: Option<Value>) {
        self.changes += 1;
        let old = self.view.record(now, key, object);
        let change = Change { key, old: old.as_ref(), new: self.view.get(key) };
        for rule in RULES {
            self.violations.extend(rule(&self.view, &change));
        }
    }

    /// Observes the content of the store in a new life of the process. Returns the watch that goes on from there.
    ///
    /// # Errors
    /// The store fails.
    pub fn begin_life(&mut self, store: &Store, now: DateTime<Utc>) -> Result<Watcher> {
        let snapshot = store.list(&Prefix::all(), &Page::default());
        for stored in &snapshot.items {
            if object::is_relevant(stored.key.as_str()) {
                self.observe(now, stored.key.as_str(), object::read(&stored.value));
            }
        }
        Ok(store.watch(&Prefix::all(), snapshot.revision)?)
    }

    /// Observes all changes that have not been observed yet, without waiting for more. After the end of a life, these are its last ones; the
    /// next life finds only the last state of each object, such as a Machine without the scale-up before it.
    ///
    /// # Errors
    /// The watch has failed.
    pub fn catch_up(&mut self, watcher: &mut Watcher, now: DateTime<Utc>) -> Result<()> {
        while let Some(event) = watcher.try_next()? {
            self.observe_event(now, &event);
        }
        Ok(())
    }

    /// Records the change of an event.
    pub fn observe_event(&mut self, now: DateTime<Utc>, event: &Event) {
        let key = event.key().as_str();
        if object::is_relevant(key) {
            let is_deleted = event.kind == EventKind::Deleted;
            self.observe(now, key, if is_deleted { None } else { object::read(&event.object.value) });
        }
    }

    /// Records that the user deletes the object with this key.
    pub fn deletes(&mut self, key: &str) {
        self.view.user_deletes(key);
    }

    /// Records that the machines of this cluster (`NAMESPACE/NAME`) are disturbed, or that nobody can say how they are, until `until`.
    pub fn disturbs(&mut self, cluster: &str, until: DateTime<Utc>) {
        self.view.disturb(cluster, until);
    }

    /// Lets the rules tolerate that changes remain unnoticed for this much longer, because events are lost.
    pub fn expect_delay(&mut self, delay: TimeDelta) {
        self.view.expect_delay(delay);
    }

    /// The objects that the user has deleted.
    pub fn deleted(&self) -> &BTreeSet<String> {
        self.view.deleted()
    }

    /// The object with this key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.view.get(key)
    }

    /// All current objects, and what was recorded of their past.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The violations so far.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Number of observed changes.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// All current objects.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.view.objects()
    }

    /// Keys of the remaining objects of deleted clusters.
    pub fn orphans(&self) -> Vec<String> {
        const LEFT_BY_THE_USER: &[&str] = &["KubeadmConfigTemplate", "DevMachineTemplate"];
        let belongs = |object: &Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            let api = object["apiVersion"].as_str().unwrap_or_default();
            let labelled = label(object, object::CLUSTER).is_some();
            let is_foreign = label(object, FOREIGN).is_some();
            (api.contains("cluster.x-k8s.io/") || labelled)
                && !LEFT_BY_THE_USER.contains(&kind)
                && !is_foreign
        };
        self.view.objects().filter(|(_, object)| belongs(object)).map(|(key, _)| key.to_owned()).collect()
    }
}
