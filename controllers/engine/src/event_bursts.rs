//! Keeps a component from filling the store with events about one object, and from hiding its other events by them.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::limits::{EVENT_BURST, EVENT_INTERVAL, EVENT_OBJECTS};

/// How many events may be recorded about each object now.
#[derive(Default)]
pub(crate) struct Bursts {
    objects: BTreeMap<Arc<str>, Bucket>,
    /// The objects by the order of their last events.
    order: BTreeMap<u64, Arc<str>>,
    next: u64,
}

struct Bucket {
    /// The events that may be recorded at `since`; a fraction has come of the next one.
    tokens: f64,
    since: DateTime<Utc>,
    place: u64,
}

impl Bursts {
    /// Returns whether one more event may be recorded about an object, and counts it if so.
    pub(crate) fn allow(&mut self, object: &str, now: DateTime<Utc>) -> bool {
        let known = self.objects.remove_entry(object);
        let (object, mut bucket) = known.unwrap_or_else(|| {
            (object.into(), Bucket { tokens: EVENT_BURST.into(), since: now, place: self.next })
        });
        self.order.remove(&bucket.place);
        // A clock that was set back adds nothing.
        let passed = (now - bucket.since).to_std().unwrap_or_default();
        let come = passed.as_secs_f64() / EVENT_INTERVAL.as_secs_f64();
        bucket.tokens = (bucket.tokens + come).min(EVENT_BURST.into());
        bucket.since = now;
        let is_allowed = bucket.tokens >= 1.0;
        if is_allowed {
            bucket.tokens -= 1.0;
        }
        bucket.place = self.next;
        self.order.insert(self.next, object.clone());
        self.objects.insert(object, bucket);
        self.next += 1;
        if self.objects.len() > EVENT_OBJECTS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.objects.remove(&oldest);
        }
        is_allowed
    }
}
