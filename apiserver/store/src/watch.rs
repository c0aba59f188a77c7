//! Watchers: each has a queue of its own, so that a slow one holds up nobody.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::{HistoryError, WatchEnd};
use crate::history::Numbers;
use crate::key::Prefix;
use crate::limits::WATCH_QUEUES_BYTES;
use crate::queue::{Found, Queue, Queued};
use crate::revision::Revision;
use crate::state::Event;
use crate::store::Inner;

/// The watchers' side that the store keeps, by the text of the watched prefix: an event looks up the handful of prefixes
/// that cover its key, and wakes nobody else.
#[derive(Default)]
pub(crate) struct Watchers {
    by_prefix: BTreeMap<Arc<str>, BTreeMap<u64, Arc<Queue>>>,
    next_id: u64,
    reached: Arc<AtomicU64>,
    /// Bytes of the events in all queues.
    queued: Arc<AtomicUsize>,
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

    /// `behind`: there are events after `from` already.
    pub(crate) fn subscribe(
        &mut self,
        prefix: &Prefix,
        from: Revision,
        behind: bool,
        store: &Arc<Inner>,
    ) -> Watcher {
        let queue = Arc::new(Queue::new(behind));
        let id = self.next_id;
        self.next_id += 1;
        self.by_prefix.entry(prefix.as_str().into()).or_default().insert(id, queue.clone());
        let registration = Registration { prefix: prefix.clone(), id, store: Arc::downgrade(store) };
        Watcher {
            read: VecDeque::new(),
            unread: VecDeque::new(),
            looked_through: from,
            queue,
            seen: from,
            reached: self.reached.clone(),
            registration,
        }
    }

    fn unsubscribe(&mut self, prefix: &Prefix, id: u64) {
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

struct Registration {
    prefix: Prefix,
    id: u64,
    store: std::sync::Weak<Inner>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            store.state.write().watchers.unsubscribe(&self.prefix, self.id);
        }
    }
}

/// Yields the events below a prefix in the order of their revisions: none missing, none twice. Dropping it ends the watch.
///
/// Invariant: everything in `read` is older than `unread`; that is not after `looked_through`; and what is in `queue` is.
pub struct Watcher {
    read: VecDeque<Arc<Event>>,
    unread: VecDeque<Numbers>,
    /// Up to which revision the history was looked through.
    looked_through: Revision,
    queue: Arc<Queue>,
    seen: Revision,
    reached: Arc<AtomicU64>,
    registration: Registration,
}

impl Watcher {
    /// The next event. Safe to cancel: no event is lost.
    ///
    /// # Errors
    /// The watch has ended; what came before has been yielded, except for [`WatchEnd::TooSlow`] nothing is missing.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchEnd> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(self.deliver(event));
            }
            if !self.unread.is_empty() {
                let store = self.store()?;
                let events = store.events(self.unread.iter().cloned().collect()).await;
                self.take_read(events.map_err(|_| WatchEnd::Stopped)?)?;
                continue;
            }
            match self.queue.take() {
                Found::Event(event) => return Ok(self.deliver(event)),
                Found::Behind => self.look_through()?,
                Found::Nothing => self.queue.filled().await,
                Found::Ended(end) => return Err(end),
            }
        }
    }

    /// The next event if there is one now. Where the watcher is so far back that memory does not reach there, this waits for the disk.
    ///
    /// # Errors
    /// As [`Watcher::next`].
    pub fn try_next(&mut self) -> Result<Option<Arc<Event>>, WatchEnd> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(Some(self.deliver(event)));
            }
            if !self.unread.is_empty() {
                let events = self.store()?.events_at_once(self.unread.iter());
                self.take_read(events.map_err(|_| WatchEnd::Stopped)?)?;
                continue;
            }
            match self.queue.take() {
                Found::Event(event) => return Ok(Some(self.deliver(event))),
                Found::Behind => self.look_through()?,
                Found::Nothing => return Ok(None),
                Found::Ended(end) => return Err(end),
            }
        }
    }

    fn store(&self) -> Result<Arc<Inner>, WatchEnd> {
        self.registration.store.upgrade().ok_or(WatchEnd::Stopped)
    }

    /// Takes the next events from the history; at its end, the queue has what follows.
    fn look_through(&mut self) -> Result<(), WatchEnd> {
        let store = self.store()?;
        // Nothing is published while this lock is held.
        let state = store.state.read();
        let from = self.looked_through.max(self.seen);
        let chunk = state.chunk(&self.registration.prefix, from).map_err(|error| match error {
            HistoryError::Compacted { .. } => WatchEnd::TooSlow,
            HistoryError::Future { .. } | HistoryError::Poisoned(_) => WatchEnd::Stopped,
        })?;
        (self.read, self.unread) = (chunk.events, chunk.numbers);
        self.looked_through = chunk.more_after.unwrap_or(state.revision);
        if chunk.more_after.is_none() {
            self.queue.caught_up();
        }
        Ok(())
    }

    /// The first of `unread` were read.
    fn take_read(&mut self, events: Vec<Event>) -> Result<(), WatchEnd> {
        self.unread.drain(..events.len());
        self.read.extend(events.into_iter().map(Arc::new));
        // A row that is gone has left the history meanwhile.
        if self.read.is_empty() { Err(WatchEnd::TooSlow) } else { Ok(()) }
    }

    /// The revision up to which this watcher has yielded everything: what a bookmark may carry.
    pub fn progress(&mut self) -> Revision {
        // The order matters: what was queued after `reached` was read may be missing from it, never the other way round.
        let reached = Revision(self.reached.load(Ordering::Acquire));
        if self.read.is_empty() && self.unread.is_empty() {
            self.seen = self.seen.max(self.looked_through);
            if self.queue.is_done() {
                self.seen = self.seen.max(reached);
            }
        }
        self.seen
    }

    fn deliver(&mut self, event: Arc<Event>) -> Arc<Event> {
        // One connection ends, and its client lists again.
        assert!(event.revision() > self.seen, "events come in the order of their revisions");
        self.seen = event.revision();
        event
    }
}
