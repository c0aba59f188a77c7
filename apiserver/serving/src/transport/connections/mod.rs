//! The table of connections: limits, fair sharing, and closing idle connections.
//!
//! A connection belongs to a stranger, identified by its IP address, until a client certificate or a request
//! authenticates it; then it belongs to that user. Strangers and users have separate limits. At the limit,
//! the owner with the most connections loses the one that was idle for longest.
//!
//! Invariant: no number of strangers locks a user out, and no user locks another one out
//! (`serving/tests/http/connections.rs`).

mod presence;

pub(crate) use presence::{Presence, Sending};

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
pub(crate) struct Connections(Arc<Mutex<Table>>);

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
pub(crate) enum Verdict {
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
    pub(crate) fn enter(&self, peer: Option<IpAddr>, now: Instant) -> (Connection, Option<&'static str>) {
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

    /// Closes the least important connection of a stranger, to free resources of the process. Returns whether
    /// there was one.
    pub(crate) fn shed(&self) -> bool {
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
pub(crate) struct Connection {
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
    pub(crate) fn presence(&self) -> Presence {
        Presence { id: self.id, shared: self.shared.clone(), table: self.table.clone() }
    }

    /// Completes when the connection must end at once because another one needs its place.
    pub(crate) async fn ended(&self) {
        self.shared.end.cancelled().await;
    }

    /// Returns whether a response is being computed.
    pub(crate) fn is_answering(&self) -> bool {
        self.shared.state.lock().answering > 0
    }

    /// Decides what to do with the connection. `unsent` is the time since which the peer accepts no bytes, if
    /// it does not.
    pub(crate) fn verdict(&self, now: Instant, unsent: Option<Instant>) -> Verdict {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    fn is_ended(connection: &Connection) -> bool {
        connection.shared.end.is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_holds_most_makes_room() {
        let (table, clock) = (
            Connections::default(),
            machinery::clock::Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()),
        );
        let (other, _) = table.enter(peer(2), clock.monotonic());
        tokio::time::advance(Duration::from_secs(1)).await;
        let held: Vec<Connection> =
            (1..limits::STRANGERS).map(|_| table.enter(peer(1), clock.monotonic()).0).collect();
        let answering = held[0].presence().begin(clock.monotonic());
        let (newest, full) = table.enter(peer(3), clock.monotonic());
        assert_eq!(full, Some("strangers"));
        let ended: Vec<usize> = (0..held.len()).filter(|at| is_ended(&held[*at])).collect();
        assert_eq!(ended, [1], "the first one is busy");
        assert!(!is_ended(&other) && !is_ended(&newest));
        drop(answering);
        // A connection that signs in frees a place for a stranger.
        assert_eq!(other.presence().sign_in("bob"), None);
        let (more, full) = table.enter(peer(3), clock.monotonic());
        assert_eq!(full, None);
        // A connection keeps its first user.
        assert_eq!(other.presence().sign_in("eve"), None);
        assert_eq!(other.shared.state.lock().owner, Owner::User("bob".into()));
        drop((held, other, newest, more));
        let table = table.0.lock();
        assert_eq!((table.strangers.count, table.users.count), (0, 0));
        assert!(table.strangers.owners.is_empty() && table.users.owners.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn users_share_their_room() {
        let (table, clock) = (
            Connections::default(),
            machinery::clock::Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()),
        );
        let sign_in = |user: &str| {
            let (connection, _) = table.enter(peer(1), clock.monotonic());
            let full = connection.presence().sign_in(user);
            (connection, full)
        };
        let held: Vec<_> = (0..limits::CONNECTIONS).map(|_| sign_in("eve")).collect();
        assert!(held.iter().all(|(connection, full)| full.is_none() && !is_ended(connection)));
        let (bob, full) = sign_in("bob");
        assert_eq!(full, Some("connections"));
        assert!(!is_ended(&bob));
        assert_eq!(held.iter().filter(|(connection, _)| is_ended(connection)).count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_and_stalled_connections_end() {
        let (table, clock) = (
            Connections::default(),
            machinery::clock::Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()),
        );
        let (connection, _) = table.enter(peer(1), clock.monotonic());
        let verdict = |unsent| connection.verdict(clock.monotonic(), unsent);
        assert_eq!(verdict(None), Verdict::Later(limits::STRANGER_IDLE));
        let sending = connection.presence().begin(clock.monotonic()).send(clock.monotonic());
        tokio::time::advance(limits::STRANGER_IDLE - Duration::from_secs(1)).await;
        assert_eq!(verdict(None), Verdict::Later(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(verdict(None), Verdict::Idle, "an answer that a stranger does not take");
        connection.presence().sign_in("bob");
        assert_eq!(verdict(None), Verdict::Later(limits::STALLED), "a watch without events");
        sending.waits(Some(clock.monotonic()));
        tokio::time::advance(limits::STALLED - Duration::from_secs(1)).await;
        assert_eq!(verdict(None), Verdict::Later(Duration::from_secs(1)));
        sending.waits(None);
        let unsent = Some(clock.monotonic());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(verdict(None), Verdict::Later(limits::STALLED));
        tokio::time::advance(limits::STALLED).await;
        assert_eq!(verdict(unsent), Verdict::Stalled);
        drop(sending);
        tokio::time::advance(limits::IDLE).await;
        assert_eq!(verdict(None), Verdict::Idle);
    }
}
