//! Clients of BMCs with open sessions. A BMC has only few sessions, so none stays open that nobody uses.

use std::collections::HashMap;
use std::hash::Hash;

use futures::future::{BoxFuture, join_all};
use metrics::Limits;
use parking_lot::Mutex;

use crate::limits;

/// What has a session, which can be closed and is opened again when it is needed.
pub(crate) trait Closing: Send {
    /// Closes the session.
    fn close(&self) -> BoxFuture<'_, ()>;
}

struct Kept<C> {
    client: C,
    /// Whether it was used since the last look at idle clients.
    is_used: bool,
}

/// The clients of a process.
pub(crate) struct Clients<K, C> {
    kept: Mutex<HashMap<K, Kept<C>>>,
    reached: Limits,
}

impl<K: Eq + Hash, C: Closing + Clone + 'static> Clients<K, C> {
    pub(crate) fn new(reached: Limits) -> Self {
        Self { kept: Mutex::default(), reached }
    }

    /// Returns a client that is kept, and is used now.
    pub(crate) fn get(&self, key: &K) -> Option<C> {
        let mut kept = self.kept.lock();
        let known = kept.get_mut(key)?;
        known.is_used = true;
        Some(known.client.clone())
    }

    /// Keeps a client. If there are too many, all others are closed.
    pub(crate) fn keep(&self, key: K, client: C) {
        let mut kept = self.kept.lock();
        if kept.len() >= limits::BMC_CLIENTS {
            self.reached.reached("bmc_clients");
            let all = kept.drain().map(|(_, kept)| kept.client).collect();
            tokio::spawn(close(all));
        }
        kept.insert(key, Kept { client, is_used: true });
    }

    /// Closes and forgets clients that are not used, as those of a host whose credentials were changed or that was deleted. It never ends.
    pub(crate) async fn close_idle(&self) {
        loop {
            tokio::time::sleep(limits::BMC_IDLE).await;
            let idle = {
                let mut kept = self.kept.lock();
                let idle = kept.extract_if(|_, kept| !std::mem::take(&mut kept.is_used));
                idle.map(|(_, kept)| kept.client).collect()
            };
            close(idle).await;
        }
    }

    /// Closes all clients, for as long as the end of the process may take.
    pub(crate) async fn close_all(&self) {
        let all = self.kept.lock().drain().map(|(_, kept)| kept.client).collect();
        if tokio::time::timeout(limits::BMC_CLOSE, close(all)).await.is_err() {
            self.reached.reached("bmc_close");
        }
    }
}

async fn close<C: Closing>(clients: Vec<C>) {
    join_all(clients.iter().map(Closing::close)).await;
}
