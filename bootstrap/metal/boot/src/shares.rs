//! Limits on concurrent use, so that neither one client nor many unknown clients can take all places.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// A limited number of places.
pub struct Shares {
    most: usize,
    of_one: usize,
    of_strangers: usize,
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
    /// Creates `most` places, of which one client gets at most `of_one`, and all machines without a BareMetalHost together at most
    /// `of_strangers`.
    pub fn new(most: usize, of_one: usize, of_strangers: usize) -> Arc<Self> {
        Arc::new(Self { most, of_one, of_strangers, taken: Mutex::default() })
    }

    /// Takes a place for the client; `None` if a limit is reached.
    pub fn take(self: &Arc<Self>, client: IpAddr, is_known: bool) -> Option<Place> {
        let client = client.to_canonical();
        let mut taken = self.taken.lock();
        let own = taken.by_client.get(&client).copied().unwrap_or(0);
        let is_full = taken.all >= self.most || (!is_known && taken.strangers >= self.of_strangers);
        if is_full || own >= self.of_one {
            return None;
        }
        taken.all += 1;
        taken.strangers += usize::from(!is_known);
        taken.by_client.insert(client, own + 1);
        Some(Place { shares: self.clone(), client, is_stranger: !is_known })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_shared_out() {
        let shares = Shares::new(4, 2, 3);
        let client = |last: u8| IpAddr::from([10, 0, 0, last]);
        let mut held: Vec<Place> = (0..2).filter_map(|_| shares.take(client(1), false)).collect();
        assert_eq!(held.len(), 2);
        assert!(shares.take("::ffff:10.0.0.1".parse().unwrap(), false).is_none(), "one client has its share");
        held.extend(shares.take(client(2), false));
        assert_eq!(held.len(), 3);
        assert!(shares.take(client(3), false).is_none(), "strangers have theirs");
        held.extend(shares.take(client(4), true));
        assert_eq!(held.len(), 4);
        assert!(shares.take(client(5), true).is_none(), "there is no more");
        held.clear();
        assert!(shares.taken.lock().by_client.is_empty());
        assert!(shares.take(client(1), false).is_some());
    }
}
