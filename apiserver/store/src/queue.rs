//! The queue of one watcher.
//!
//! All queues share the events, and their bytes are counted once. A queue that exceeds its limit is emptied, and its
//! watcher reads from the history until it has caught up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::WatchEnd;
use crate::limits::WATCH_QUEUE_EVENTS;
use crate::object::Event;

/// An event in at least one queue.
pub(crate) struct Queued {
    event: Arc<Event>,
    counted: Arc<AtomicUsize>,
}

impl Queued {
    /// Adds the event's bytes to `counted` while a queue holds the event.
    pub(crate) fn new(event: &Arc<Event>, counted: &Arc<AtomicUsize>) -> Self {
        counted.fetch_add(event.object.value.len(), Ordering::Relaxed);
        Self { event: event.clone(), counted: counted.clone() }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.counted.fetch_sub(self.event.object.value.len(), Ordering::Relaxed);
    }
}

/// The result of reading a queue.
pub(crate) enum Found {
    Event(Arc<Event>),
    /// The next events are in the history.
    Behind,
    Nothing,
    Ended(WatchEnd),
}

/// The queue of one watcher, which the store fills and the watcher empties.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    filled: Notify,
}

/// Invariant: if `behind` is set, the queue has no events, and new ones are read from the history.
struct Inner {
    events: VecDeque<Arc<Queued>>,
    behind: bool,
    end: Option<WatchEnd>,
}

impl Queue {
    /// Creates an empty queue. `behind` is true if its watcher begins in the history.
    pub(crate) fn new(behind: bool) -> Self {
        let inner = Inner { events: VecDeque::new(), behind, end: None };
        Self { inner: Mutex::new(inner), filled: Notify::new() }
    }

    /// Adds an event. Returns whether the queue had too many events, and was emptied.
    pub(crate) fn push(&self, queued: &Arc<Queued>) -> bool {
        let is_full = {
            let mut inner = self.inner.lock();
            let is_full = inner.events.len() >= WATCH_QUEUE_EVENTS;
            if is_full {
                inner.fall_behind();
            } else if !inner.behind {
                inner.events.push_back(queued.clone());
            }
            is_full
        };
        self.filled.notify_one();
        is_full
    }

    /// Drops the waiting events and makes the watcher continue from the history.
    pub(crate) fn fall_behind(&self) {
        let mut inner = self.inner.lock();
        if !inner.events.is_empty() {
            inner.fall_behind();
        }
    }

    /// Queues events again. The caller must have read the whole history and hold the lock that keeps it from growing.
    pub(crate) fn caught_up(&self) {
        self.inner.lock().behind = false;
    }

    /// Ends the queue: no more events follow.
    pub(crate) fn end(&self, end: WatchEnd) {
        self.inner.lock().end.get_or_insert(end);
        self.filled.notify_one();
    }

    pub(crate) fn take(&self) -> Found {
        let mut inner = self.inner.lock();
        match (inner.events.pop_front(), &inner.end) {
            (Some(queued), _) => Found::Event(queued.event.clone()),
            (None, _) if inner.behind => Found::Behind,
            (None, Some(end)) => Found::Ended(end.clone()),
            (None, None) => Found::Nothing,
        }
    }

    /// Returns whether no event waits here or in the history.
    pub(crate) fn is_done(&self) -> bool {
        let inner = self.inner.lock();
        inner.events.is_empty() && !inner.behind
    }

    /// Waits until an event may have come since the last call.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }
}

impl Inner {
    fn fall_behind(&mut self) {
        self.events = VecDeque::new();
        self.behind = true;
    }
}
