//! The watchers of a store: each has a queue of its own, so that a slow one holds up nobody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::WatchEnd;
use crate::key::Prefix;
use crate::limits::WATCH_QUEUES_BYTES;
use crate::object::Event;
use crate::queue::{Queue, Queued};
use crate::revision::Revision;

/// The queues of all watchers, by the text of the watched prefix: an event looks up the handful of prefixes
/// that cover its key, and wakes nobody else.
#[derive(Default)]
pub(crate) struct Watchers {
    by_prefix: BTreeMap<Arc<str>, BTreeMap<u64, Arc<Queue>>>,
    next_id: u64,
    reached: Arc<AtomicU64>,
    /// Bytes of the events in all queues.
    queued: Arc<AtomicUsize>,
}

/// What a watcher holds of the store's side.
pub(crate) struct Subscription {
    /// By which it is removed again.
    pub(crate) id: u64,
    pub(crate) queue: Arc<Queue>,
    /// The revision that everything was queued up to.
    pub(crate) reached: Arc<AtomicU64>,
}

impl Watchers {
    /// Queues an event with everyone who watches its key. Where that is too much for all queues together, everyone goes on from the history.
    pub(crate) fn send(&mut self, event: &Arc<Event>) {
        let mut queued = None;
        for prefix in event.key().covering() {
            let Some(queues) = self.by_prefix.get(prefix) else { continue };
            let queued = queued.get_or_insert_with(|| Arc::new(Queued::new(event, &self.queued)));
            queues.values().for_each(|queue| queue.push(queued));
        }
        drop(queued);
        if self.queued_bytes() > WATCH_QUEUES_BYTES {
            self.by_prefix.values().flat_map(BTreeMap::values).for_each(|queue| queue.fall_behind());
        }
    }

    /// Bytes of the events that wait for watchers, each counted once.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Tells progress. Called after `send` of everything up to `revision`, so that an empty queue means "seen up to here".
    pub(crate) fn reached(&self, revision: Revision) {
        self.reached.store(revision.0, Ordering::Release);
    }

    /// Ends every watcher, once it has read what there is.
    pub(crate) fn stop(&mut self) {
        for queue in std::mem::take(&mut self.by_prefix).values().flat_map(BTreeMap::values) {
            queue.end(WatchEnd::Stopped);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.by_prefix.values().map(BTreeMap::len).sum()
    }

    /// A queue for one more watcher; `behind`: there are events already that it has to read from the history.
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
