//! What the requests of a connection tell of it.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Connections, Owner, Shared};
use crate::limits;

/// A connection as its requests see it.
#[derive(Clone)]
pub(crate) struct Presence {
    pub(super) id: u64,
    pub(super) shared: Arc<Shared>,
    pub(super) table: Connections,
}

impl Presence {
    /// The connection belongs to this user from now on, unless it is somebody's. A limit that was reached, for which another one has to
    /// go.
    pub(crate) fn sign_in(&self, user: &str) -> Option<&'static str> {
        if !self.shared.state.lock().is_stranger() {
            return None;
        }
        let mut table = self.table.0.lock();
        // One that has ended, or has been told to, has no place any more.
        let before = {
            let mut state = self.shared.state.lock();
            if !state.is_stranger() || !table.strangers.holds(&state.owner, self.id) {
                return None;
            }
            std::mem::replace(&mut state.owner, Owner::User(user.into()))
        };
        table.strangers.remove(&before, self.id);
        let owner = Owner::User(user.into());
        let full = table.users.insert(owner, self.id, self.shared.clone(), limits::CONNECTIONS);
        full.then_some("connections")
    }

    /// A request begins.
    pub(crate) fn begin(self, now: Instant) -> Answering {
        let mut state = self.shared.state.lock();
        state.active = now;
        state.answering += 1;
        drop(state);
        Answering(self)
    }
}

/// A request whose answer is being made, until it is dropped.
pub(crate) struct Answering(Presence);

impl Answering {
    /// The answer is there.
    pub(crate) fn send(&self, now: Instant) -> Sending {
        let mut state = self.0.shared.state.lock();
        state.active = now;
        state.next += 1;
        let id = state.next;
        state.sending.insert(id, None);
        Sending { id, shared: self.0.shared.clone() }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.shared.state.lock().answering -= 1;
    }
}

/// An answer that is being sent, until it is dropped.
pub(crate) struct Sending {
    id: u64,
    shared: Arc<Shared>,
}

impl Sending {
    /// The peer was given a piece and has to ask for the next (`since`), or has asked.
    pub(crate) fn waits(&self, since: Option<Instant>) {
        self.shared.state.lock().sending.insert(self.id, since);
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.shared.state.lock().sending.remove(&self.id);
    }
}
