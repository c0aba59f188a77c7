//! The watchers of a store. Each has its own queue, so that a slow watcher does not delay others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::WatchEnd;
use crate::key::Prefix;
use crate::limits::WATCH_QUEUES_BYTES;
use crate::object::Event;
use crate::queue::{Queue, Queued};
use crate::revision::Revision;

/// The queues of all watchers by the text of their prefix. An event only looks up the few prefixes that cover its key,
/// and wakes only their watchers.
#[derive(Default)]
pub(crate) struct Watchers {
    by_prefix: BTreeMap<Arc<str>, BTreeMap<u64, Arc<Queue>>>,
    next_id: u64,
    reached: Arc<AtomicU64>,
    /// Size of the events in all queues, in bytes.
    queued: Arc<AtomicUsize>,
    overflows: Overflows,
}

/// The number of times that the queues of watchers were emptied. Their watchers continued from the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflows {
    /// Queues of single watchers with more than [`crate::limits::WATCH_QUEUE_EVENTS`] events.
    pub events: u64,
    /// All queues, because their events had more than [`WATCH_QUEUES_BYTES`] bytes.
    pub bytes: u64,
}

/// The place of one watcher among all watchers.
pub(crate) struct Subscription {
    /// Identifies the watcher when it is removed.
    pub(crate) id: u64,
    pub(crate) queue: Arc<Queue>,
    /// The revision up to which all events are queued.
    pub(crate) reached: Arc<AtomicU64>,
}

impl Watchers {
    /// Queues an event for all watchers of its key. If all queues together exceed their limit, all watchers continue
    /// from the history.
    pub(crate) fn send(&mut self, event: &Arc<Event>) {
        let mut queued = None;
        for prefix in event.key().covering() {
            let Some(queues) = self.by_prefix.get(prefix) else { continue };
            let queued = queued.get_or_insert_with(|| Arc::new(Queued::new(event, &self.queued)));
            let full = queues.values().filter(|queue| queue.push(queued)).count();
            self.overflows.events += full as u64;
        }
        drop(queued);
        if self.queued_bytes() > WATCH_QUEUES_BYTES {
            self.overflows.bytes += 1;
            self.by_prefix.values().flat_map(BTreeMap::values).for_each(|queue| queue.fall_behind());
        }
    }

    /// Returns the size of the events that wait for watchers in bytes, with each event counted once.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Returns how often queues were emptied since the start.
    pub(crate) fn overflows(&self) -> Overflows {
        self.overflows
    }

    /// Reports progress. It must be called after `send` of all events up to `revision`, so that an empty queue means
    /// that all of them were seen.
    pub(crate) fn reached(&self, revision: Revision) {
        self.reached.store(revision.0, Ordering::Release);
    }

    /// Ends all watchers after they have read their remaining events.
    pub(crate) fn stop(&mut self) {
        for queue in std::mem::take(&mut self.by_prefix).values().flat_map(BTreeMap::values) {
            queue.end(WatchEnd::Stopped);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.by_prefix.values().map(BTreeMap::len).sum()
    }

    /// Adds a watcher. `behind` is true if the watcher must read earlier events from the history first.
    pub(crate) fn subscribe(&mut self, prefix: &Prefix, behind: bool) -> Subscription {
        let queue = Arc::new(Queue::new(behind));
        let id = self.next_id;
        self.next_id += 1;
        self.by_prefix.entry(prefix.as_str().into()).or_default().insert(id, queue.clone());
        Subscription { id, queue, reached: self.reached.clone() }
    }

    pub(crate) fn unsubscribe(&mut self, prefix: &Prefix, id: u64) {
        if let Some(queues) = self.by_prefix.get_mut(prefix.as_str()) {
            queues.remove(&id);
            if queues.is_empty() {
                self.by_prefix.remove(prefix.as_str());
            }
        }
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        self.stop();
    }
}
