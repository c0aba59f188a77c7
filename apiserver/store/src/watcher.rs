//! A watcher, which reads events from the history and then from its queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::error::{HistoryError, WatchEnd};
use crate::history::Numbers;
use crate::inner::Inner;
use crate::key::Prefix;
use crate::object::Event;
use crate::queue::Found;
use crate::revision::Revision;
use crate::watchers::Subscription;

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

/// A stream of the events below a prefix in the order of their revisions, without gaps and duplicates. Dropping the watcher
/// ends the watch.
///
/// Invariant: events in `read` are older than those in `unread`, these are not after `looked_through`, and those in the
/// queue are.
pub struct Watcher {
    read: VecDeque<Arc<Event>>,
    unread: VecDeque<Numbers>,
    /// The revision up to which the history was searched.
    looked_through: Revision,
    subscription: Subscription,
    seen: Revision,
    registration: Registration,
}

impl Watcher {
    /// Creates a watcher of the events after revision `from`.
    pub(crate) fn new(
        prefix: &Prefix,
        from: Revision,
        subscription: Subscription,
        store: &Arc<Inner>,
    ) -> Self {
        let registration =
            Registration { prefix: prefix.clone(), id: subscription.id, store: Arc::downgrade(store) };
        Self {
            read: VecDeque::new(),
            unread: VecDeque::new(),
            looked_through: from,
            subscription,
            seen: from,
            registration,
        }
    }

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
            match self.subscription.queue.take() {
                Found::Event(event) => return Ok(self.deliver(event)),
                Found::Behind => self.look_through()?,
                Found::Nothing => self.subscription.queue.filled().await,
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
            match self.subscription.queue.take() {
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
            self.subscription.queue.caught_up();
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
        let reached = Revision(self.subscription.reached.load(Ordering::Acquire));
        if self.read.is_empty() && self.unread.is_empty() {
            self.seen = self.seen.max(self.looked_through);
            if self.subscription.queue.is_done() {
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
