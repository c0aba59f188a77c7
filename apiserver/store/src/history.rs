//! The recent history. The newest events are complete, and older ones are without their values, which the engine has.
//!
//! Invariant: events are in the order of their revisions, and those without values come first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::change::Change;
use crate::key::{Key, Prefix};
use crate::limits::{HistoryLimits, READ_EVENTS, TRIM_EVENTS_MAX, WATCH_CHUNK_BYTES};
use crate::object::{Derived, Event, Stored, event_of, stored_of};
use crate::revision::Revision;

/// An event without its values, as the revisions of the engine's rows that contain them.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) key: Key,
    /// The row of the event itself.
    pub(crate) revision: Revision,
    /// The replaced row, or [`Revision::NONE`] for a new object.
    pub(crate) previous: Revision,
}

impl Numbers {
    fn of(event: &Event) -> Self {
        let previous = event.prev.as_ref().map_or(Revision::NONE, |prev| prev.mod_revision);
        Self { key: event.key().clone(), revision: event.revision(), previous }
    }

    /// Returns the rows that [`Self::event`] needs.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Revision> {
        [self.revision, self.previous].into_iter().filter(|revision| *revision != Revision::NONE)
    }

    /// Builds the event from rows. Returns `None` if a row is missing.
    pub(crate) fn event(&self, rows: &BTreeMap<Revision, Change>) -> Option<Event> {
        let prev = match self.previous {
            Revision::NONE => None,
            previous => Some(Arc::new(stored_of(rows.get(&previous)?.clone()))),
        };
        Some(event_of(rows.get(&self.revision)?.clone(), prev, Derived::default()))
    }
}

/// A version of an object.
pub(crate) enum Version {
    /// The version is in memory.
    Here(Arc<Stored>),
    /// The version is in the engine's row of that revision.
    Row(Revision),
}

enum Known {
    Whole(Arc<Event>),
    Numbers(Numbers),
}

struct Recorded {
    known: Known,
    /// The time in seconds since the Unix epoch.
    time: i64,
    /// Size of the event's value in bytes, or an estimate.
    bytes: usize,
}

impl Recorded {
    fn revision(&self) -> Revision {
        match &self.known {
            Known::Whole(event) => event.revision(),
            Known::Numbers(numbers) => numbers.revision,
        }
    }

    fn key(&self) -> &Key {
        match &self.known {
            Known::Whole(event) => event.key(),
            Known::Numbers(numbers) => &numbers.key,
        }
    }

    /// Returns the version that the event replaced.
    fn before(&self) -> Option<Version> {
        match &self.known {
            Known::Whole(event) => event.prev.clone().map(Version::Here),
            Known::Numbers(numbers) => {
                (numbers.previous != Revision::NONE).then_some(Version::Row(numbers.previous))
            }
        }
    }
}

/// The next events that a watcher reads from the history.
#[derive(Default)]
pub(crate) struct Chunk {
    /// The events in memory. Either this or `numbers` is empty.
    pub(crate) events: VecDeque<Arc<Event>>,
    pub(crate) numbers: VecDeque<Numbers>,
    /// The revision up to which the history was searched, or `None` if it was searched to its end.
    pub(crate) more_after: Option<Revision>,
}

#[derive(Default)]
pub(crate) struct History {
    events: VecDeque<Recorded>,
    /// The number of events without values, which are the first ones.
    without_values: usize,
    /// Size of the values of the complete events, in bytes.
    bytes: usize,
    /// Size of the values of all events, in memory or not, in bytes.
    total: usize,
}

impl History {
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Adds an event. The oldest complete events lose their values if these take more than `limits.memory` bytes.
    pub(crate) fn push(&mut self, event: Arc<Event>, time: i64, limits: &HistoryLimits) {
        let bytes = event.object.value.len();
        self.bytes += bytes;
        self.total += bytes;
        self.events.push_back(Recorded { known: Known::Whole(event), time, bytes });
        while self.bytes > limits.memory
            && let Some(recorded) = self.events.get_mut(self.without_values)
        {
            if let Known::Whole(event) = &recorded.known {
                self.bytes -= event.object.value.len();
                recorded.known = Known::Numbers(Numbers::of(event));
            }
            self.without_values += 1;
        }
    }

    /// Adds an event from the engine, which keeps its values of `bytes` bytes. Must not be called after the first
    /// [`Self::push`].
    pub(crate) fn push_numbers(&mut self, change: &Change, bytes: usize) {
        let Change { key, revision, previous, time, .. } = change;
        let numbers = Numbers { key: key.clone(), revision: *revision, previous: *previous };
        self.total += bytes;
        self.events.push_back(Recorded { known: Known::Numbers(numbers), time: *time, bytes });
        self.without_values += 1;
    }

    /// Drops all events up to and including `revision`.
    pub(crate) fn trim(&mut self, revision: Revision) {
        while let Some(oldest) = self.events.front()
            && oldest.revision() <= revision
        {
            match &oldest.known {
                Known::Whole(event) => self.bytes -= event.object.value.len(),
                Known::Numbers(_) => self.without_values -= 1,
            }
            self.total -= oldest.bytes;
            self.events.pop_front();
        }
    }

    /// Returns the revision up to which events may be dropped at `now` (Unix seconds), before `adding` more events make
    /// `newest` the last revision. Events may be dropped if both limits allow it, or if the values exceed `bytes`.
    pub(crate) fn trimmable(
        &self,
        limits: &HistoryLimits,
        bytes: usize,
        newest: u64,
        adding: usize,
        now: i64,
    ) -> Option<Revision> {
        let age = i64::try_from(limits.age.as_secs()).unwrap_or(i64::MAX);
        let mut left = self.total;
        self.events
            .iter()
            .take(TRIM_EVENTS_MAX.max(2 * adding))
            .take_while(|recorded| {
                let too_many = left > bytes;
                left -= recorded.bytes;
                // An event from the far future was written before the clock was set back, so its time is meaningless.
                let old = newest - recorded.revision().0 >= limits.revisions
                    && now.abs_diff(recorded.time) > age.unsigned_abs();
                old || too_many
            })
            .last()
            .map(Recorded::revision)
    }

    /// Returns the keys below `prefix` that changed after `revision`, with their version at `revision`, or `None` if
    /// they did not exist.
    pub(crate) fn changed_since(
        &self,
        prefix: &Prefix,
        revision: Revision,
    ) -> BTreeMap<&Key, Option<Version>> {
        let later = self.events.iter().rev().take_while(|recorded| recorded.revision() > revision);
        // The first of several changes counts. It comes last in this order and replaces the others.
        later
            .filter(|recorded| prefix.covers(recorded.key()))
            .map(|recorded| (recorded.key(), recorded.before()))
            .collect()
    }

    /// Returns the first events after `revision` that `prefix` covers, up to the size of a chunk.
    pub(crate) fn chunk(&self, prefix: &Prefix, revision: Revision) -> Chunk {
        let first = self.events.partition_point(|recorded| recorded.revision() <= revision);
        let (mut chunk, mut bytes, mut last) = (Chunk::default(), 0, revision);
        for recorded in self.events.range(first..) {
            if prefix.covers(recorded.key()) {
                let full =
                    bytes >= WATCH_CHUNK_BYTES || chunk.numbers.len() + chunk.events.len() == READ_EVENTS;
                match &recorded.known {
                    Known::Whole(event) if !full && chunk.numbers.is_empty() => {
                        bytes += event.bytes();
                        chunk.events.push_back(event.clone());
                    }
                    Known::Numbers(numbers) if !full => chunk.numbers.push_back(numbers.clone()),
                    _ => {
                        chunk.more_after = Some(last);
                        break;
                    }
                }
            }
            last = recorded.revision();
        }
        chunk
    }
}
