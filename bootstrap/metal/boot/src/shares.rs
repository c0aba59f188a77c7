//! Limits on concurrent use, so that neither one client nor many unknown clients can take all places.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// A number of places, and the name of this limit in the metrics.
pub type Limit = (usize, &'static str);

/// A limited number of places.
pub struct Shares {
    all: Limit,
    of_one: Limit,
    of_strangers: Limit,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    strangers: usize,
    by_client: HashMap<IpAddr, usize>,
}

/// A place, which is released on drop.
pub struct Place {
    shares: Arc<Shares>,
    client: IpAddr,
    is_stranger: bool,
}

impl Shares {
    /// Creates `all` places, of which one client gets at most `of_one`, and all machines without a BareMetalHost together at most
    /// `of_strangers`.
    pub fn new(all: Limit, of_one: Limit, of_strangers: Limit) -> Arc<Self> {
        Arc::new(Self { all, of_one, of_strangers, taken: Mutex::default() })
    }

    /// Returns the number of clients that have a place.
    pub fn clients(&self) -> usize {
        self.taken.lock().by_client.len()
    }

    /// Takes a place for the client.
    ///
    /// # Errors
    /// The name of the limit that is reached.
    pub fn take(self: &Arc<Self>, client: IpAddr, is_known: bool) -> Result<Place, &'static str> {
        let client = client.to_canonical();
        let mut taken = self.taken.lock();
        let own = taken.by_client.get(&client).copied().unwrap_or(0);
        let strangers = if is_known { 0 } else { taken.strangers };
        for (count, (most, name)) in
            [(own, self.of_one), (strangers, self.of_strangers), (taken.all, self.all)]
        {
            if count >= most {
                return Err(name);
            }
        }
        taken.all += 1;
        taken.strangers += usize::from(!is_known);
        taken.by_client.insert(client, own + 1);
        Ok(Place { shares: self.clone(), client, is_stranger: !is_known })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock();
        taken.all -= 1;
        taken.strangers -= usize::from(self.is_stranger);
        match taken.by_client.get_mut(&self.client) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(taken.by_client.remove(&self.client)),
        }
    }
}
