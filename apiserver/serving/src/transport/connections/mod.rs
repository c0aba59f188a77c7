//! The table of connections: limits, fair sharing, and closing idle connections.
//!
//! A connection belongs to a stranger, identified by its IP address, until a client certificate or a request
//! authenticates it; then it belongs to that user. Strangers and users have separate limits. At the limit,
//! the owner with the most connections loses the one that was idle for longest.
//!
//! Invariant: no number of strangers locks a user out, and no user locks another one out
//! (`serving/tests/http/connections.rs`).

mod presence;

pub use presence::{Presence, Sending};

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits;

/// The owner of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    Stranger(Option<IpAddr>),
    User(Arc<str>),
}

impl Owner {
    fn stranger(peer: Option<IpAddr>) -> Self {
        Self::Stranger(peer.map(|address| match address {
            IpAddr::V4(_) => address,
            // An IPv6 /64 network usually belongs to one customer.
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(address) => address.into(),
                None => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            },
        }))
    }
}

/// The connections of one listener.
#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    next: u64,
    strangers: Class,
    users: Class,
}

/// Connections that share one limit.
#[derive(Default)]
struct Class {
    count: usize,
    owners: HashMap<Owner, BTreeMap<u64, Arc<Shared>>>,
}

/// The state that the connection's task, its requests and the table share. Lock order: the table before the
/// state.
struct Shared {
    state: Mutex<State>,
    /// Cancelled when the connection must end at once.
    end: CancellationToken,
}

struct State {
    owner: Owner,
    /// When a request last started or was answered.
    active: Instant,
    /// Number of requests whose response is being computed.
    answering: usize,
    /// Responses that are being sent. The value is the time since which the peer has not read, or `None`.
    sending: BTreeMap<u64, Option<Instant>>,
    next: u64,
}

/// The next action for a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Check again after this time.
    Later(Duration),
    /// The connection was idle for too long.
    Idle,
    /// The peer stopped reading a response.
    Stalled,
}

impl Connections {
    /// Adds a connection. If a limit was reached, another connection is closed for it and the second value
    /// names the limit.
    pub fn enter(&self, peer: Option<IpAddr>, now: Instant) -> (Connection, Option<&'static str>) {
        let owner = Owner::stranger(peer);
        let state =
            State { owner: owner.clone(), active: now, answering: 0, sending: BTreeMap::new(), next: 0 };
        let shared = Arc::new(Shared { state: Mutex::new(state), end: CancellationToken::new() });
        let mut table = self.0.lock();
        table.next += 1;
        let id = table.next;
        let full = table.strangers.insert(owner, id, shared.clone(), limits::STRANGERS);
        drop(table);
        (Connection { id, shared, table: self.clone() }, full.then_some("strangers"))
    }

    /// Returns whether nobody has a connection.
    pub fn is_empty(&self) -> bool {
        let table = self.0.lock();
        let is_empty = |class: &Class| class.count == 0 && class.owners.is_empty();
        is_empty(&table.strangers) && is_empty(&table.users)
    }

    /// Closes the least important connection of a stranger, to free resources of the process. Returns whether
    /// there was one.
    pub fn shed(&self) -> bool {
        self.0.lock().strangers.shed()
    }
}

impl Class {
    /// Adds a connection. At the limit it closes another one and returns `true`.
    fn insert(&mut self, owner: Owner, id: u64, shared: Arc<Shared>, limit: usize) -> bool {
        let full = self.count >= limit;
        if full {
            self.shed();
        }
        self.count += 1;
        self.owners.entry(owner).or_default().insert(id, shared);
        full
    }

    fn holds(&self, owner: &Owner, id: u64) -> bool {
        self.owners.get(owner).is_some_and(|held| held.contains_key(&id))
    }

    fn remove(&mut self, owner: &Owner, id: u64) {
        let Some(held) = self.owners.get_mut(owner) else { return };
        if held.remove(&id).is_some() {
            self.count -= 1;
        }
        if held.is_empty() {
            self.owners.remove(owner);
        }
    }

    /// Closes the longest idle connection of the owner with the most connections.
    fn shed(&mut self) -> bool {
        let Some((owner, held)) = self.owners.iter().max_by_key(|(_, held)| held.len()) else { return false };
        let busy = |shared: &Shared| {
            let state = shared.state.lock();
            (state.is_busy(), state.active)
        };
        let Some((id, shared)) = held.iter().min_by_key(|(_, shared)| busy(shared)) else { return false };
        shared.end.cancel();
        let (owner, id) = (owner.clone(), *id);
        self.remove(&owner, id);
        true
    }
}

impl State {
    fn is_stranger(&self) -> bool {
        matches!(self.owner, Owner::Stranger(_))
    }

    /// Returns whether the connection is in use. A stranger's unread response does not count, since such
    /// responses are short.
    fn is_busy(&self) -> bool {
        self.answering > 0 || (!self.is_stranger() && !self.sending.is_empty())
    }
}

/// One connection; dropping it removes it from the table.
pub struct Connection {
    id: u64,
    shared: Arc<Shared>,
    table: Connections,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut table = self.table.0.lock();
        let owner = self.shared.state.lock().owner.clone();
        table.strangers.remove(&owner, self.id);
        table.users.remove(&owner, self.id);
    }
}

impl Connection {
    /// Returns a handle for the connection's requests.
    pub fn presence(&self) -> Presence {
        Presence { id: self.id, shared: self.shared.clone(), table: self.table.clone() }
    }

    /// Returns the user to whom the connection belongs; `None` if it is a stranger's.
    pub fn user(&self) -> Option<Arc<str>> {
        match &self.shared.state.lock().owner {
            Owner::User(user) => Some(user.clone()),
            Owner::Stranger(_) => None,
        }
    }

    /// Completes when the connection must end at once because another one needs its place.
    pub async fn ended(&self) {
        self.shared.end.cancelled().await;
    }

    /// Returns whether a response is being computed.
    pub fn is_answering(&self) -> bool {
        self.shared.state.lock().answering > 0
    }

    /// Decides what to do with the connection. `unsent` is the time since which the peer accepts no bytes, if
    /// it does not.
    pub fn verdict(&self, now: Instant, unsent: Option<Instant>) -> Verdict {
        let state = self.shared.state.lock();
        let oldest = state.sending.values().flatten().copied().chain(unsent).min();
        let stalled = oldest.map(|since| now.duration_since(since));
        if stalled.is_some_and(|stalled| stalled >= limits::STALLED) {
            return Verdict::Stalled;
        }
        let until_stalled = limits::STALLED - stalled.unwrap_or_default();
        let (idle, limit) = (now.duration_since(state.active), state.idle_limit());
        match limit.checked_sub(idle) {
            _ if state.is_busy() => Verdict::Later(until_stalled),
            None | Some(Duration::ZERO) => Verdict::Idle,
            Some(left) => Verdict::Later(left.min(until_stalled)),
        }
    }
}

impl State {
    fn idle_limit(&self) -> Duration {
        if self.is_stranger() { limits::STRANGER_IDLE } else { limits::IDLE }
    }
}
