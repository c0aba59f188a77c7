//! How many connections each client has, so that none takes all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::console::say;
use crate::limits;

/// The connections of each client that has some.
pub(crate) struct Shares {
    most: usize,
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection of a client, until this is dropped.
pub(crate) struct Share {
    client: IpAddr,
    shares: Arc<Shares>,
}

impl Shares {
    /// Returns the shares of this many connections.
    pub(crate) fn of(connections: usize) -> Arc<Self> {
        Arc::new(Self { most: limits::share(connections), counts: Mutex::default() })
    }

    /// Counts a connection; `None` if this client has its share.
    pub(crate) fn take(self: &Arc<Self>, client: IpAddr) -> Option<Share> {
        let mut counts = self.counts.lock();
        let count = counts.entry(client).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        if *count == self.most {
            say(&format!("{client} has {count} connections, its share: more are refused"));
        }
        Some(Share { client, shares: self.clone() })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.shares.counts.lock();
        let Some(count) = counts.get_mut(&self.client) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(&self.client);
        }
    }
}
