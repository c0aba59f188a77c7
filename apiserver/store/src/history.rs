//! The recent history: the newest events as they were sent, older ones without their values, which the engine has.
//!
//! Invariant: events stand in the order of their revisions; those without values come first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::change::Change;
use crate::key::{Key, Prefix};
use crate::limits::{HistoryLimits, READ_EVENTS, TRIM_EVENTS_MAX, WATCH_CHUNK_BYTES};
use crate::object::{Event, Stored, event_of, stored_of};
use crate::revision::Revision;

/// An event without its values: the numbers of the engine's rows that hold them.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) key: Key,
    /// The row of the event itself.
    pub(crate) revision: Revision,
    /// The row that it replaced; [`Revision::NONE`] for a new object.
    pub(crate) previous: Revision,
}

impl Numbers {
    fn of(event: &Event) -> Self {
        let previous = event.prev.as_ref().map_or(Revision::NONE, |prev| prev.mod_revision);
        Self { key: event.key().clone(), revision: event.revision(), previous }
    }

    /// The rows that [`Self::event`] needs.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Revision> {
        [self.revision, self.previous].into_iter().filter(|revision| *revision != Revision::NONE)
    }

    /// The event, put together from rows; `None` when one is not there any more.
    pub(crate) fn event(&self, rows: &BTreeMap<Revision, Change>) -> Option<Event> {
        let prev = match self.previous {
            Revision::NONE => None,
            previous => Some(Arc::new(stored_of(rows.get(&previous)?.clone()))),
        };
        Some(event_of(rows.get(&self.revision)?.clone(), prev))
    }
}

/// A version of an object.
pub(crate) enum Version {
    /// As it is.
    Here(Arc<Stored>),
    /// In the engine's row of that number.
    Row(Revision),
}

enum Known {
    Whole(Arc<Event>),
    Numbers(Numbers),
}

struct Recorded {
    known: Known,
    /// Seconds since the Unix epoch.
    time: i64,
    /// Of its value, as far as that is known.
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

    /// The version that the event replaced.
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
    /// Those that are in memory, or else `numbers`, never both.
    pub(crate) events: VecDeque<Arc<Event>>,
    pub(crate) numbers: VecDeque<Numbers>,
    /// Up to where the history was looked through; `None`: to its end.
    pub(crate) more_after: Option<Revision>,
}

#[derive(Default)]
pub(crate) struct History {
    events: VecDeque<Recorded>,
    /// How many have no values: the first ones.
    without_values: usize,
    /// Bytes of the values of the others.
    bytes: usize,
    /// Bytes of the values of all, wherever they are.
    total: usize,
}

impl History {
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Adds an event; the oldest ones lose their values when there are more than `limits.memory` bytes of them.
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

    /// Adds an event that was read from the engine, where its values stay, `bytes` long. Only before the first [`Self::push`].
    pub(crate) fn push_numbers(&mut self, change: &Change, bytes: usize) {
        let Change { key, revision, previous, time, .. } = change;
        let numbers = Numbers { key: key.clone(), revision: *revision, previous: *previous };
        self.total += bytes;
        self.events.push_back(Recorded { known: Known::Numbers(numbers), time: *time, bytes });
        self.without_values += 1;
    }

    /// Drops everything up to and including `revision`.
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

    /// Up to which revision events may be dropped at `now` (Unix seconds) when `adding` more come, which makes `newest` the last
    /// revision: those that both limits let go, and those that `bytes` of values have no room for.
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
                // An event from far in the future was written before the clock was set back: its time says nothing.
                let old = newest - recorded.revision().0 >= limits.revisions
                    && now.abs_diff(recorded.time) > age.unsigned_abs();
                old || too_many
            })
            .last()
            .map(Recorded::revision)
    }

    /// What the keys below `prefix` that have changed after `revision` were then; `None`: not there.
    pub(crate) fn changed_since(
        &self,
        prefix: &Prefix,
        revision: Revision,
    ) -> BTreeMap<&Key, Option<Version>> {
        let later = self.events.iter().rev().take_while(|recorded| recorded.revision() > revision);
        // Of several changes the first one counts, which comes last here.
        later
            .filter(|recorded| prefix.covers(recorded.key()))
            .map(|recorded| (recorded.key(), recorded.before()))
            .collect()
    }

    /// The first events after `revision` that `prefix` covers: so many that they can wait for a watcher.
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
