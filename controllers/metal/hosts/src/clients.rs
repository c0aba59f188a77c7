//! Clients of BMCs with open sessions. A BMC has only few sessions, so none stays open that nobody uses.

use std::hash::Hash;
use std::num::NonZeroUsize;

use futures::future::{BoxFuture, join_all};
use lru::LruCache;
use metrics::Limits;
use parking_lot::Mutex;

use crate::limits;

/// What has a session, which can be closed and is opened again when it is needed.
pub trait Closing: Send {
    /// Closes the session.
    fn close(&self) -> BoxFuture<'_, ()>;
}

struct Open<C> {
    client: C,
    /// Whether it was used since the last look at idle clients.
    is_used: bool,
}

/// The clients of a process.
pub struct Clients<K, C> {
    open: Mutex<LruCache<K, Open<C>>>,
    reached: Limits,
}

impl<K: Eq + Hash + Clone, C: Closing + Clone + 'static> Clients<K, C> {
    /// Returns a cache without clients, which counts in `reached`.
    pub fn new(reached: Limits) -> Self {
        let most = NonZeroUsize::new(limits::BMC_CLIENTS).unwrap_or(NonZeroUsize::MIN);
        Self { open: Mutex::new(LruCache::sparse(most)), reached }
    }

    /// Returns a client that was made before, and is used now.
    pub fn get(&self, key: &K) -> Option<C> {
        let mut open = self.open.lock();
        let known = open.get_mut(key)?;
        known.is_used = true;
        Some(known.client.clone())
    }

    /// Adds a client. If there are too many, the one that was not used for the longest time is closed; so is an earlier one of the same key.
    pub fn add(&self, key: K, client: C) {
        let mut open = self.open.lock();
        if open.len() == limits::BMC_CLIENTS && !open.contains(&key) {
            self.reached.reached("bmc_clients");
        }
        if let Some((_, displaced)) = open.push(key, Open { client, is_used: true }) {
            tokio::spawn(close(vec![displaced.client]));
        }
    }

    /// Closes and forgets clients that are not used, as those of a host whose credentials were changed or that was deleted. It never ends.
    pub(crate) async fn close_idle(&self) {
        loop {
            tokio::time::sleep(limits::BMC_IDLE).await;
            let idle = self.take_idle();
            close(idle).await;
        }
    }

    /// Forgets the clients that were not used since the last call, and returns them.
    pub fn take_idle(&self) -> Vec<C> {
        let mut open = self.open.lock();
        let looked_at = open.iter_mut().map(|(key, known)| (key, std::mem::take(&mut known.is_used)));
        let idle: Vec<K> = looked_at.filter(|(_, was_used)| !was_used).map(|(key, _)| key.clone()).collect();
        idle.iter().filter_map(|key| open.pop(key)).map(|known| known.client).collect()
    }

    /// Closes all clients, for as long as the end of the process may take.
    pub async fn close_all(&self) {
        let all = {
            let mut open = self.open.lock();
            std::iter::from_fn(|| open.pop_lru()).map(|(_, known)| known.client).collect()
        };
        if tokio::time::timeout(limits::BMC_CLOSE, close(all)).await.is_err() {
            self.reached.reached("bmc_close");
        }
    }
}

async fn close<C: Closing>(clients: Vec<C>) {
    join_all(clients.iter().map(Closing::close)).await;
}
