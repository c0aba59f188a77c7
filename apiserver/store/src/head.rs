//! The head is the newest state that writers build on. Most of it is published, and the rest waits for the engine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::change::{Change, ChangeKind};
use crate::engine::Batch;
use crate::error::CommitError;
use crate::key::Key;
use crate::limits::{BATCH_OPERATIONS_MAX, QUOTA_PARTS, QUOTA_REMOVAL_PARTS};
use crate::object::{Derived, Event, Stored, event_of};
use crate::operation::Operation;
use crate::revision::Revision;
use crate::state::State;

/// The available space for changes that are not durable yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The used size in bytes.
    pub(crate) used: u64,
    /// The quota in bytes.
    pub(crate) quota: u64,
    /// Whether the disk has space for deletions only.
    pub(crate) strained: bool,
}

impl Room {
    /// Checks that there is space for `change` beside `staged` waiting bytes. `frees` is true for a step of a deletion.
    fn check(
        &self,
        change: &Change,
        before: Option<&Arc<Stored>>,
        staged: u64,
        frees: bool,
    ) -> Result<(), CommitError> {
        if change.kind == ChangeKind::Delete {
            return Ok(());
        }
        if self.strained && !frees {
            return Err(CommitError::Full("the disk is full: there is room for deletions only".into()));
        }
        let larger = before.is_none_or(|before| change.value.len() > before.value.len());
        let beyond = if frees { self.quota / QUOTA_PARTS * QUOTA_REMOVAL_PARTS } else { 0 };
        // A long value has its own pages, in a power of two.
        let taken = (change.value.len() as u64 + 256).next_power_of_two();
        let after = self.used.saturating_add(staged).saturating_add(taken);
        if larger && after > self.quota.saturating_add(beyond) {
            return Err(CommitError::Quota { used: self.used, quota: self.quota });
        }
        Ok(())
    }
}

/// The result of a commit.
pub(crate) type Answer = Result<Vec<Arc<Event>>, CommitError>;

/// A transaction that waits for its batch. A transaction without changes was refused because of a change that is not
/// durable yet, and its caller must not get the refusal before that change can be read; or its caller only waits for those before it.
struct Staged {
    changes: Vec<(Change, Arc<Event>)>,
    /// Whether one of the changes belongs to a deletion.
    frees: bool,
    answer: Answer,
    reply: oneshot::Sender<Answer>,
}

/// Invariant: `pending` contains the state of all keys that the transactions in `queue` and in the current batch
/// change.
#[derive(Default)]
pub(crate) struct Head {
    pending: BTreeMap<Key, (Revision, Option<Arc<Stored>>)>,
    queue: VecDeque<Staged>,
    /// The last assigned revision.
    revision: Revision,
    flushing: bool,
    /// Size of the values in `queue` and in the current batch, in bytes.
    staged: u64,
    failure: Option<Arc<str>>,
}

/// A batch on its way to the engine, with the callers that wait for it.
pub(crate) struct Flight {
    pub(crate) batch: Batch,
    pub(crate) events: Vec<(Arc<Event>, i64)>,
    replies: Vec<(oneshot::Sender<Answer>, Answer)>,
}

impl Flight {
    /// Returns whether there is nothing to write, because all transactions in the batch were refused.
    pub(crate) fn is_empty(&self) -> bool {
        self.batch.changes.is_empty() && !self.batch.quiet
    }

    /// Answers all callers, with `failure` if there is one. A caller that has gone away is ignored.
    pub(crate) fn reply(self, failure: Option<&CommitError>) {
        for (reply, answer) in self.replies {
            let _gone = reply.send(failure.map_or(answer, |failure| Err(failure.clone())));
        }
    }
}

impl Head {
    pub(crate) fn at(revision: Revision) -> Self {
        Self { revision, ..Self::default() }
    }

    pub(crate) fn failure(&self) -> Option<&Arc<str>> {
        self.failure.as_ref()
    }

    /// Checks a transaction against the pending state, assigns its revisions and queues it. The flag tells the caller
    /// to start the flush.
    pub(crate) fn stage(
        &mut self,
        state: &parking_lot::RwLock<State>,
        operations: Vec<Operation>,
        time: i64,
        room: Room,
    ) -> Result<(oneshot::Receiver<Answer>, bool), CommitError> {
        if let Some(failure) = &self.failure {
            return Err(CommitError::Poisoned(failure.clone()));
        }
        let mut overlay = BTreeMap::new();
        let mut changes = Vec::with_capacity(operations.len());
        let mut refusal = None;
        let (mut revision, mut staged, mut frees) = (self.revision, self.staged, false);
        for operation in operations {
            let key = operation.key();
            let current = match overlay.get(key).or_else(|| self.pending.get(key)) {
                Some((_, pending)) => pending.clone(),
                None => state.read().get(key).cloned(),
            };
            if let Err(error) = operation.check(current.as_ref()) {
                refusal = Some((error, self.pending.contains_key(key)));
                break;
            }
            revision = revision.next();
            let freeing = operation.frees();
            let (change, event) = change_of(operation, current, revision, time);
            room.check(&change, event.prev.as_ref(), staged, freeing)?;
            staged += change.value.len() as u64;
            frees |= freeing;
            let after = (change.kind == ChangeKind::Put).then(|| event.object.clone());
            overlay.insert(change.key.clone(), (revision, after));
            changes.push((change, event));
        }
        // The head is unchanged up to this point, so a panic in a value function only affects its own caller.
        let answer = match refusal {
            Some((error, false)) => return Err(error),
            Some((error, true)) => {
                changes.clear();
                Err(error)
            }
            None => {
                self.revision = revision;
                self.staged = staged;
                self.pending.append(&mut overlay);
                Ok(changes.iter().map(|(_, event)| event.clone()).collect())
            }
        };
        let (reply, receiver) = oneshot::channel();
        self.queue.push_back(Staged { changes, frees, answer, reply });
        Ok((receiver, !std::mem::replace(&mut self.flushing, true)))
    }

    /// Takes queued transactions up to the size of a batch. `None` ends the flush.
    pub(crate) fn take(&mut self, trim: impl FnOnce(usize) -> Option<Revision>) -> Option<Flight> {
        if self.queue.is_empty() {
            self.flushing = false;
            return None;
        }
        let mut flight = Flight { batch: Batch::default(), events: Vec::new(), replies: Vec::new() };
        while let Some(next) = self.queue.front() {
            let full = flight.events.len() + next.changes.len() > BATCH_OPERATIONS_MAX;
            if full && !flight.replies.is_empty() {
                break;
            }
            let Some(staged) = self.queue.pop_front() else { break };
            flight.batch.frees |= staged.frees;
            for (change, event) in staged.changes {
                flight.events.push((event, change.time));
                flight.batch.changes.push(change);
            }
            flight.replies.push((staged.reply, staged.answer));
        }
        // Refused transactions have no revision. Nothing is written for them alone, so nothing may be trimmed with
        // them.
        if let Some(last) = flight.batch.changes.last() {
            flight.batch.revision = last.revision;
            flight.batch.trim = trim(flight.events.len());
        }
        Some(flight)
    }

    /// Returns a quiet batch without changes, or `None` if a flush is under way.
    pub(crate) fn take_quiet(
        &mut self,
        state: &parking_lot::RwLock<State>,
        trim: Option<Revision>,
    ) -> Option<Flight> {
        if self.failure.is_some() || std::mem::replace(&mut self.flushing, true) {
            return None;
        }
        // The revision is read here, because a write that came before this lock has changed it.
        let revision = state.read().revision;
        let batch = Batch { revision, trim, quiet: true, ..Batch::default() };
        Some(Flight { batch, events: Vec::new(), replies: Vec::new() })
    }

    /// Removes the pending changes of a published batch.
    pub(crate) fn published(&mut self, flight: &Flight) {
        for (event, _) in &flight.events {
            self.staged = self.staged.saturating_sub(event.object.value.len() as u64);
            if self.pending.get(event.key()).is_some_and(|(revision, _)| *revision == event.revision()) {
                self.pending.remove(event.key());
            }
        }
    }

    /// Drops all pending changes, because they build on a failed batch. Assigned revisions are not assigned again.
    pub(crate) fn fail(&mut self, failure: &CommitError) {
        self.pending.clear();
        self.staged = 0;
        for staged in self.queue.drain(..) {
            let _gone = staged.reply.send(Err(failure.clone()));
        }
        if let CommitError::Poisoned(reason) = failure {
            self.failure.get_or_insert_with(|| reason.clone());
        }
    }
}

fn change_of(
    operation: Operation,
    current: Option<Arc<Stored>>,
    revision: Revision,
    time: i64,
) -> (Change, Arc<Event>) {
    let (kind, key, value, derived) = match operation {
        Operation::Create { key, value, derived } | Operation::Update { key, value, derived, .. } => {
            (ChangeKind::Put, key, exact(value(revision)), derived)
        }
        Operation::Delete { key, last, .. } => {
            let value = match (last, &current) {
                (Some(last), _) => exact(last(revision)),
                (None, Some(current)) => current.value.clone(),
                (None, None) => Bytes::new(),
            };
            (ChangeKind::Delete, key, value, Derived::default())
        }
    };
    // The existing key is shared, so an object has one copy of its key regardless of the number of its versions.
    let key = current.as_ref().map_or(key, |current| current.key.clone());
    let change = Change {
        revision,
        kind,
        key,
        value,
        create_revision: current.as_ref().map_or(revision, |current| current.create_revision),
        previous: current.as_ref().map_or(Revision::NONE, |current| current.mod_revision),
        time,
    };
    (change.clone(), Arc::new(event_of(change, current, derived)))
}

/// Removes the spare capacity that a serializer leaves, which would stay in memory as long as the object.
fn exact(value: Bytes) -> Bytes {
    Bytes::from(Vec::from(value).into_boxed_slice())
}
