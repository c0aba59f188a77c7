//! What waits for one watcher.
//!
//! The events are shared by all queues, and their bytes are counted once for all of them. A queue never holds more than its share of
//! either: then it is emptied, and its watcher reads from the history until it has caught up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::WatchEnd;
use crate::limits::WATCH_QUEUE_EVENTS;
use crate::object::Event;

/// An event that waits in at least one queue.
pub(crate) struct Queued {
    event: Arc<Event>,
    counted: Arc<AtomicUsize>,
}

impl Queued {
    /// Adds the event's bytes to `counted` for as long as a queue holds it.
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

/// What a watcher finds in its queue.
pub(crate) enum Found {
    Event(Arc<Event>),
    /// The next events are in the history.
    Behind,
    Nothing,
    Ended(WatchEnd),
}

/// The queue of one watcher: filled by the store, emptied by the watcher.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    filled: Notify,
}

/// Invariant: where `behind` is set, there are no events; what comes meanwhile is read from the history.
struct Inner {
    events: VecDeque<Arc<Queued>>,
    behind: bool,
    end: Option<WatchEnd>,
}

impl Queue {
    /// An empty queue; `behind`: its watcher begins in the history.
    pub(crate) fn new(behind: bool) -> Self {
        let inner = Inner { events: VecDeque::new(), behind, end: None };
        Self { inner: Mutex::new(inner), filled: Notify::new() }
    }

    pub(crate) fn push(&self, queued: &Arc<Queued>) {
        {
            let mut inner = self.inner.lock();
            if inner.events.len() >= WATCH_QUEUE_EVENTS {
                inner.fall_behind();
            } else if !inner.behind {
                inner.events.push_back(queued.clone());
            }
        }
        self.filled.notify_one();
    }

    /// Lets go of what waits.
    pub(crate) fn fall_behind(&self) {
        let mut inner = self.inner.lock();
        if !inner.events.is_empty() {
            inner.fall_behind();
        }
    }

    /// Events are queued again from now on: the caller has read the whole history, and holds the lock that keeps it from growing.
    pub(crate) fn caught_up(&self) {
        self.inner.lock().behind = false;
    }

    /// No more events come.
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

    /// Whether nothing waits here or in the history.
    pub(crate) fn is_done(&self) -> bool {
        let inner = self.inner.lock();
        inner.events.is_empty() && !inner.behind
    }

    /// Done when something may have come since the last call.
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
