//! Whether a plan still gets anywhere. A controller that fails writes and takes back the same, again and again, each time with other names;
//! such changes lead to no state that was not there before.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use chrono::{DateTime, Utc};
use machinery::random::is_name_suffix;
use serde_json::Value;

use super::duration;
use super::view::Change;
use crate::limits::{PLAN_REPEATED, PLAN_STUCK};

/// Fields that are different each time, or say in words what other fields say.
const VOLATILE: [&str; 9] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "lastTransitionTime",
    "lastUpdated",
    "message",
    "observedGeneration",
    "resourceVersion",
    "uid",
];

/// The states that there were.
#[derive(Debug)]
pub struct Progress {
    /// The digest of each object, by its key in the view.
    objects: BTreeMap<String, u64>,
    /// The sum of all digests: it is the same for the same objects, in whichever order they came.
    state: u64,
    seen: BTreeSet<u64>,
    /// When a state came that was not there before.
    since: DateTime<Utc>,
    /// How many changes there were since then.
    repeated: u64,
}

impl Progress {
    /// Begins at this time.
    pub fn new(now: DateTime<Utc>) -> Self {
        Self { objects: BTreeMap::new(), state: 0, seen: BTreeSet::new(), since: now, repeated: 0 }
    }

    /// Takes in a change.
    pub fn observe(&mut self, now: DateTime<Utc>, change: &Change) {
        let new = change.new.as_deref().map(digest);
        let old = match new {
            Some(new) => self.objects.insert(change.key.clone(), new),
            None => self.objects.remove(&change.key),
        };
        self.state = self.state.wrapping_add(new.unwrap_or_default()).wrapping_sub(old.unwrap_or_default());
        if self.seen.insert(self.state) {
            (self.since, self.repeated) = (now, 0);
        } else {
            self.repeated += 1;
        }
    }

    /// Returns whether the same has been repeated for so long that nothing else will come of it.
    pub fn is_stuck(&self, now: DateTime<Utc>) -> bool {
        self.repeated >= PLAN_REPEATED && now - self.since >= duration(PLAN_STUCK)
    }
}

fn digest(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(object, &mut hasher);
    hasher.finish()
}

fn feed(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str())) {
                name.hash(hasher);
                feed(value, hasher);
            }
            fields.len().hash(hasher);
        }
        Value::Array(items) => {
            items.iter().for_each(|item| feed(item, hasher));
            items.len().hash(hasher);
        }
        Value::String(text) => {
            text.split('-').filter(|part| !is_name_suffix(part)).for_each(|part| part.hash(hasher));
        }
        other => other.hash(hasher),
    }
}
