//! Watchers: each has a queue of its own, so that a slow one holds up nobody.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;

use crate::engine::Change;
use crate::error::WatchEnd;
use crate::history::{Backlog, Numbers};
use crate::key::Prefix;
use crate::limits::{READ_EVENTS, WATCH_QUEUE_EVENTS};
use crate::revision::Revision;
use crate::state::Event;
use crate::store::Inner;

/// The watchers' side that the store keeps, by the text of the watched prefix: an event looks up the handful of prefixes
/// that cover its key, and wakes nobody else.
#[derive(Default)]
pub(crate) struct Watchers {
    by_prefix: BTreeMap<Arc<str>, BTreeMap<u64, Subscriber>>,
    next_id: u64,
    reached: Arc<AtomicU64>,
}

struct Subscriber {
    queue: mpsc::Sender<Arc<Event>>,
    end: Arc<OnceLock<WatchEnd>>,
}

impl Watchers {
    /// Queues an event with everyone who watches its key; ends those whose queue is full.
    pub(crate) fn send(&mut self, event: &Arc<Event>) {
        for prefix in event.key().covering() {
            let Some(subscribers) = self.by_prefix.get_mut(prefix) else { continue };
            subscribers.retain(|_, subscriber| match subscriber.queue.try_send(event.clone()) {
                Ok(()) => true,
                Err(_) => {
                    subscriber.end.get_or_init(|| WatchEnd::TooSlow);
                    false
                }
            });
            if subscribers.is_empty() {
                self.by_prefix.remove(prefix);
            }
        }
    }

    /// Tells progress. Called after `send` of everything up to `revision`, so that an empty queue means "seen up to here".
    pub(crate) fn reached(&self, revision: Revision) {
        self.reached.store(revision.0, Ordering::Release);
    }

    /// Ends every watcher, once it has read what is queued.
    pub(crate) fn stop(&mut self) {
        self.by_prefix.clear();
    }

    pub(crate) fn count(&self) -> usize {
        self.by_prefix.values().map(BTreeMap::len).sum()
    }

    pub(crate) fn subscribe(
        &mut self,
        prefix: &Prefix,
        from: Revision,
        backlog: Backlog,
        store: &Arc<Inner>,
    ) -> Watcher {
        let (sender, queue) = mpsc::channel(WATCH_QUEUE_EVENTS);
        let end = Arc::new(OnceLock::new());
        let id = self.next_id;
        self.next_id += 1;
        let subscriber = Subscriber { queue: sender, end: end.clone() };
        self.by_prefix.entry(prefix.as_str().into()).or_default().insert(id, subscriber);
        let registration = Registration { prefix: prefix.clone(), id, store: Arc::downgrade(store) };
        Watcher {
            read: VecDeque::new(),
            unread: backlog.numbers,
            backlog: backlog.events,
            queue,
            end,
            seen: from,
            reached: self.reached.clone(),
            registration,
        }
    }

    fn unsubscribe(&mut self, prefix: &Prefix, id: u64) {
        if let Some(subscribers) = self.by_prefix.get_mut(prefix.as_str()) {
            subscribers.remove(&id);
            if subscribers.is_empty() {
                self.by_prefix.remove(prefix.as_str());
            }
        }
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
/// Invariant: everything in `read` is older than `unread`, that is older than `backlog`, and that is older than `queue`.
pub struct Watcher {
    read: VecDeque<Arc<Event>>,
    unread: VecDeque<Numbers>,
    backlog: VecDeque<Arc<Event>>,
    queue: mpsc::Receiver<Arc<Event>>,
    end: Arc<OnceLock<WatchEnd>>,
    seen: Revision,
    reached: Arc<AtomicU64>,
    registration: Registration,
}

impl Watcher {
    /// The next event. Safe to cancel: no event is lost.
    ///
    /// # Errors
    /// The watch has ended; what was queued before has been yielded, except for [`WatchEnd::TooSlow`] nothing is missing.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchEnd> {
        if self.read.is_empty() && !self.unread.is_empty() {
            let store = self.registration.store.upgrade().ok_or(WatchEnd::Stopped)?;
            let rows = store.rows(self.wanted()).await;
            self.read_from(&rows.map_err(|_| WatchEnd::Stopped)?)?;
        }
        let event = match self.old() {
            Some(event) => event,
            None => self.queue.recv().await.ok_or_else(|| self.ended())?,
        };
        Ok(self.deliver(event))
    }

    /// The next event if there is one now. Where the watch began so far back that memory does not reach there, this waits for the
    /// disk.
    ///
    /// # Errors
    /// As [`Watcher::next`].
    pub fn try_next(&mut self) -> Result<Option<Arc<Event>>, WatchEnd> {
        if self.read.is_empty() && !self.unread.is_empty() {
            let store = self.registration.store.upgrade().ok_or(WatchEnd::Stopped)?;
            let rows = store.rows_at_once(&self.wanted());
            self.read_from(&rows.map_err(|_| WatchEnd::Stopped)?)?;
        }
        if let Some(event) = self.old() {
            return Ok(Some(self.deliver(event)));
        }
        match self.queue.try_recv() {
            Ok(event) => Ok(Some(self.deliver(event))),
            Err(mpsc::error::TryRecvError::Empty) => Ok(None),
            Err(mpsc::error::TryRecvError::Disconnected) => Err(self.ended()),
        }
    }

    fn old(&mut self) -> Option<Arc<Event>> {
        self.read.pop_front().or_else(|| self.backlog.pop_front())
    }

    /// The rows of the next events that have to be read.
    fn wanted(&self) -> BTreeSet<Revision> {
        self.unread.iter().take(READ_EVENTS).flat_map(Numbers::rows).collect()
    }

    /// Turns [`Self::wanted`] into events.
    fn read_from(&mut self, rows: &BTreeMap<Revision, Change>) -> Result<(), WatchEnd> {
        let events: Option<VecDeque<_>> =
            self.unread.iter().take(READ_EVENTS).map(|numbers| numbers.event(rows).map(Arc::new)).collect();
        // A row that is gone has left the history meanwhile.
        self.read = events.ok_or_else(|| self.end.get_or_init(|| WatchEnd::TooSlow).clone())?;
        self.unread.drain(..self.read.len());
        Ok(())
    }

    /// The revision up to which this watcher has yielded everything: what a bookmark may carry.
    pub fn progress(&mut self) -> Revision {
        // The order matters: what was queued after `reached` was read may be missing from it, never the other way round.
        let reached = Revision(self.reached.load(Ordering::Acquire));
        let nothing_old = self.read.is_empty() && self.unread.is_empty() && self.backlog.is_empty();
        if nothing_old && self.queue.is_empty() && self.end.get().is_none() {
            self.seen = self.seen.max(reached);
        }
        self.seen
    }

    fn deliver(&mut self, event: Arc<Event>) -> Arc<Event> {
        debug_assert!(event.revision() > self.seen, "events come in the order of their revisions");
        self.seen = event.revision();
        event
    }

    fn ended(&self) -> WatchEnd {
        self.end.get().cloned().unwrap_or(WatchEnd::Stopped)
    }
}
