//! The state that readers see: the current objects and the recent history, both durable.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::engine::Loaded;
use crate::error::HistoryError;
use crate::history::{Chunk, History, Version};
use crate::key::{Key, Prefix};
use crate::limits::HistoryLimits;
use crate::object::{Derived, Event, EventKind, Stored, event_of};
use crate::revision::Revision;
use crate::watchers::Watchers;

/// The part of a list that the caller wants.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Only keys after this one, which need not exist.
    pub start_after: Option<Key>,
    /// Maximum number of objects.
    pub limit: Option<usize>,
}

/// A consistent view of a part of the store.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The revision of the view. A watch from this revision misses nothing.
    pub revision: Revision,
    /// The objects in the order of their keys.
    pub items: Vec<Arc<Stored>>,
    /// The number of objects after the last item.
    pub remaining: usize,
}

/// Invariant: `history` holds all events after `compacted` in order, and `objects` is the result of replaying all
/// events.
pub(crate) struct State {
    objects: BTreeMap<Key, Arc<Stored>>,
    /// The number of objects of each resource, and of each namespace of a resource, by the text of their prefix.
    counts: BTreeMap<Box<str>, usize>,
    /// The memory that the objects take, in bytes.
    memory: u64,
    history: History,
    limits: HistoryLimits,
    pub(crate) revision: Revision,
    compacted: Revision,
    pub(crate) watchers: Watchers,
}

impl State {
    /// Replays the content of an engine. The error describes rows that do not fit together.
    pub(crate) fn replay(loaded: Loaded, limits: HistoryLimits) -> Result<Self, String> {
        let mut state = Self {
            objects: BTreeMap::new(),
            counts: BTreeMap::new(),
            memory: 0,
            history: History::default(),
            limits,
            revision: loaded.revision.max(Revision::FIRST),
            compacted: loaded.compacted.max(Revision::FIRST),
            watchers: Watchers::default(),
        };
        state.watchers.reached(state.revision);
        let mut last = Revision::NONE;
        for change in loaded.changes {
            if change.revision <= last || change.revision > state.revision {
                return Err(format!(
                    "revision {} is out of order after {last} (the last revision is {})",
                    change.revision, state.revision
                ));
            }
            last = change.revision;
            let prev = state.objects.get(&change.key).cloned();
            let in_history = change.revision > state.compacted;
            if in_history && prev.as_ref().map_or(Revision::NONE, |prev| prev.mod_revision) != change.previous
            {
                return Err(format!(
                    "{} at revision {}: the replaced version {} is missing",
                    change.key, change.revision, change.previous
                ));
            }
            if in_history {
                // The values are read from the engine when they are needed.
                let bytes = if change.value.is_empty() { loaded.row_bytes } else { change.value.len() };
                state.history.push_numbers(&change, bytes);
            }
            state.apply(&event_of(change, prev, Derived::default()));
        }
        Ok(state)
    }

    fn apply(&mut self, event: &Event) {
        let before = match event.kind {
            EventKind::Added | EventKind::Modified => {
                self.memory += event.object.memory();
                self.objects.insert(event.key().clone(), event.object.clone())
            }
            EventKind::Deleted => self.objects.remove(event.key()),
        };
        self.memory -= before.as_ref().map_or(0, |before| before.memory());
        match (event.kind, before) {
            (EventKind::Deleted, Some(_)) => self.count(event.key(), false),
            (EventKind::Added | EventKind::Modified, None) => self.count(event.key(), true),
            _ => {}
        }
    }

    fn count(&mut self, key: &Key, more: bool) {
        for prefix in key.folders() {
            match self.counts.get_mut(prefix) {
                Some(count) if more => *count += 1,
                Some(count) if *count > 1 => *count -= 1,
                Some(_) => drop(self.counts.remove(prefix)),
                None => drop(self.counts.insert(prefix.into(), 1)),
            }
        }
    }

    /// Returns the number of objects below a prefix. Only those of a group are counted one by one.
    pub(crate) fn count_of(&self, prefix: &Prefix) -> usize {
        match prefix.folder() {
            Some(folder) => self.counts.get(folder).copied().unwrap_or(0),
            None if *prefix == Prefix::all() => self.objects.len(),
            None => self.covered(prefix, None).count(),
        }
    }

    /// Returns the memory that the objects take, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// Checks that `events` and the `revision` of their batch follow the published state. The error describes the first
    /// that does not.
    pub(crate) fn check_order(&self, events: &[(Arc<Event>, i64)], revision: Revision) -> Result<(), String> {
        let revisions = events.iter().map(|(event, _)| event.revision());
        let mut last = self.revision;
        for next in revisions {
            if next <= last {
                return Err(format!("the event of revision {next} follows revision {last}"));
            }
            last = next;
        }
        if revision < last { Err(format!("a batch of revision {revision} follows {last}")) } else { Ok(()) }
    }

    /// Publishes durable events, which become visible together.
    pub(crate) fn publish(
        &mut self,
        events: &[(Arc<Event>, i64)],
        revision: Revision,
        trim: Option<Revision>,
    ) {
        for (event, time) in events {
            self.apply(event);
            self.history.push(event.clone(), *time, &self.limits);
            self.watchers.send(event);
        }
        self.revision = revision;
        self.watchers.reached(revision);
        if let Some(trim) = trim {
            self.history.trim(trim);
            self.compacted = self.compacted.max(trim);
        }
    }

    /// Returns the revision up to which the history may be dropped when `adding` events follow at `now` (Unix seconds).
    /// `tight` means that the quota is nearly reached, `strained` that the disk is full and deletions need the space of
    /// the whole history.
    pub(crate) fn trimmable(&self, adding: usize, now: i64, tight: bool, strained: bool) -> Option<Revision> {
        let newest = self.revision.0.saturating_add(adding as u64);
        let bytes = match (strained, tight) {
            (true, _) => 0,
            (false, true) => self.limits.bytes_when_tight(),
            (false, false) => self.limits.bytes,
        };
        self.history.trimmable(&self.limits, bytes, newest, adding, now)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    pub(crate) fn object_count(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn history_count(&self) -> usize {
        self.history.len()
    }

    pub(crate) fn compacted(&self) -> Revision {
        self.compacted
    }

    fn covered(&self, prefix: &Prefix, after: Option<&Key>) -> impl Iterator<Item = (&Key, &Arc<Stored>)> {
        let start = prefix.start();
        let from = match after {
            Some(after) if *after >= start => Bound::Excluded(after.clone()),
            _ => Bound::Included(start),
        };
        let prefix = prefix.clone();
        self.objects.range((from, Bound::Unbounded)).take_while(move |(key, _)| prefix.covers(key))
    }

    pub(crate) fn list(&self, prefix: &Prefix, page: &Page) -> Snapshot {
        let mut covered = self.covered(prefix, page.start_after.as_ref()).map(|(_, stored)| stored);
        let items: Vec<_> = covered.by_ref().take(page.limit.unwrap_or(usize::MAX)).cloned().collect();
        let remaining = covered.count();
        Snapshot { revision: self.revision, items, remaining }
    }

    /// Returns the object with this key, if it exists.
    pub(crate) fn list_one(&self, key: &Key) -> Snapshot {
        let items = self.get(key).cloned().into_iter().collect();
        Snapshot { revision: self.revision, items, remaining: 0 }
    }

    /// Returns the objects below a prefix that are wanted.
    pub(crate) fn list_wanted(&self, prefix: &Prefix, wanted: impl Fn(&Stored) -> bool) -> Snapshot {
        let covered = self.covered(prefix, None).map(|(_, stored)| stored);
        let items = covered.filter(|stored| wanted(stored)).cloned().collect();
        Snapshot { revision: self.revision, items, remaining: 0 }
    }

    pub(crate) fn check_reachable(&self, requested: Revision) -> Result<(), HistoryError> {
        if requested > self.revision {
            return Err(HistoryError::Future { requested, current: self.revision });
        }
        if requested < self.compacted {
            return Err(HistoryError::Compacted { requested, oldest: self.compacted });
        }
        Ok(())
    }

    /// Returns the list at `revision`, which is the current list with later changes reverted, and the number of objects
    /// after it.
    pub(crate) fn list_at(
        &self,
        prefix: &Prefix,
        revision: Revision,
        page: &Page,
    ) -> Result<(Vec<Version>, usize), HistoryError> {
        self.check_reachable(revision)?;
        let changed = self.history.changed_since(prefix, revision);
        if changed.is_empty() {
            let now = self.list(prefix, page);
            return Ok((now.items.into_iter().map(Version::Here).collect(), now.remaining));
        }
        let here = |(key, stored): (_, &Arc<Stored>)| (key, Version::Here(stored.clone()));
        let mut then: BTreeMap<&Key, Version> =
            self.covered(prefix, page.start_after.as_ref()).map(here).collect();
        for (key, before) in changed {
            match before {
                Some(before) if page.start_after.as_ref().is_none_or(|after| key > after) => {
                    then.insert(key, before)
                }
                _ => then.remove(key),
            };
        }
        let mut versions = then.into_values();
        let shown = versions.by_ref().take(page.limit.unwrap_or(usize::MAX)).collect();
        Ok((shown, versions.count()))
    }

    /// Returns the next events after `revision` that `prefix` covers.
    pub(crate) fn chunk(&self, prefix: &Prefix, revision: Revision) -> Result<Chunk, HistoryError> {
        self.check_reachable(revision)?;
        Ok(self.history.chunk(prefix, revision))
    }
}
