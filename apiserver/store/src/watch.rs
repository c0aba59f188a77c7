//! Watchers. Each has its own queue, so that a slow watcher does not delay others.

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

/// The queues of all watchers by the text of their prefix. An event only looks up the few prefixes that cover its key,
/// and wakes only their watchers.
#[derive(Default)]
pub(crate) struct Watchers {
    by_prefix: BTreeMap<Arc<str>, BTreeMap<u64, Arc<Queue>>>,
    next_id: u64,
    reached: Arc<AtomicU64>,
    /// Size of the events in all queues, in bytes.
    queued: Arc<AtomicUsize>,
}

impl Watchers {
    /// Queues an event for all watchers of its key. If all queues together exceed their limit, all watchers continue
    /// from the history.
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

    /// Returns the size of the events that wait for watchers in bytes, with each event counted once.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
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

    /// Adds a watcher. `behind` is true if there are events after `from` already.
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

/// Returns the events below a prefix in the order of their revisions, without gaps and duplicates. Dropping the watcher
/// ends the watch.
///
/// Invariant: events in `read` are older than those in `unread`, these are not after `looked_through`, and those in
/// `queue` are.
pub struct Watcher {
    read: VecDeque<Arc<Event>>,
    unread: VecDeque<Numbers>,
    /// The revision up to which the history was searched.
    looked_through: Revision,
    queue: Arc<Queue>,
    seen: Revision,
    reached: Arc<AtomicU64>,
    registration: Registration,
}

impl Watcher {
    /// Returns the next event. It is safe to cancel, because no event is lost.
    ///
    /// # Errors
    /// The watch has ended and earlier events have been returned. No event is missing, except after
    /// [`WatchEnd::TooSlow`].
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

    /// Returns the next event, or `None` if there is none now. If the event is not in memory, this waits for the disk.
    ///
    /// # Errors
    /// As for [`Watcher::next`].
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

    /// Reads the next events from the history. At its end, the watcher continues with the queue.
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

    /// Moves the first of `unread` to `read`.
    fn take_read(&mut self, events: Vec<Event>) -> Result<(), WatchEnd> {
        self.unread.drain(..events.len());
        self.read.extend(events.into_iter().map(Arc::new));
        // A missing row has left the history meanwhile.
        if self.read.is_empty() { Err(WatchEnd::TooSlow) } else { Ok(()) }
    }

    /// Returns the revision up to which this watcher has returned all events, for bookmarks.
    pub fn progress(&mut self) -> Revision {
        // The order matters: events may be queued after `reached` was read, but no event up to `reached` is queued
        // later.
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
        // A panic ends this connection only, and its client lists again.
        assert!(event.revision() > self.seen, "events come in the order of their revisions");
        self.seen = event.revision();
        event
    }
}
