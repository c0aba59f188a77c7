//! Reports from a connection's requests to the table of connections.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Connections, Owner, Shared};
use crate::limits;

/// A connection from the point of view of its requests.
#[derive(Clone)]
pub struct Presence {
    pub(super) id: u64,
    pub(super) shared: Arc<Shared>,
    pub(super) table: Connections,
}

impl Presence {
    /// Assigns the connection to this user, unless it already has one. If a limit was reached, another
    /// connection is closed for it and the limit's name is returned.
    pub fn sign_in(&self, user: &str) -> Option<&'static str> {
        if !self.shared.state.lock().is_stranger() {
            return None;
        }
        let mut table = self.table.0.lock();
        // A connection that has ended, or was told to, has left the table.
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

    /// Marks the start of a request.
    pub fn begin(self, now: Instant) -> Answering {
        let mut state = self.shared.state.lock();
        state.active = now;
        state.answering += 1;
        drop(state);
        Answering(self)
    }
}

/// A request whose response is being computed; dropping it ends that.
pub struct Answering(Presence);

impl Answering {
    /// Marks the response as computed and now being sent.
    pub fn send(&self, now: Instant) -> Sending {
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

/// A response that is being sent; dropping it ends that.
pub struct Sending {
    id: u64,
    shared: Arc<Shared>,
}

impl Sending {
    /// Records since when the peer must read the next piece; `None` once it asked for it.
    pub fn waits(&self, since: Option<Instant>) {
        self.shared.state.lock().sending.insert(self.id, since);
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.shared.state.lock().sending.remove(&self.id);
    }
}
