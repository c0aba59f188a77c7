//! The taken addresses of pools. They follow the changes of address objects, so that an allocation does not read all of its pool.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use parking_lot::Mutex;
use schemas::addresses::AddressSet;

/// The taken addresses by group of objects. A group has the address objects of a pool, or those whose names have one prefix. `O`
/// identifies an object.
pub struct Ledger<O>(Mutex<BTreeMap<String, Group<O>>>);

/// What is taken of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// The taken addresses.
    pub addresses: AddressSet,
    /// The addresses that several objects have.
    pub shared: BTreeSet<IpAddr>,
    /// The number of objects.
    pub objects: usize,
}

struct Group<O> {
    /// The objects that changed since they were read.
    changed: BTreeSet<O>,
    known: BTreeMap<O, IpAddr>,
    /// The number of objects with each address.
    objects: BTreeMap<IpAddr, usize>,
    shared: BTreeSet<IpAddr>,
    addresses: AddressSet,
}

impl<O> Default for Ledger<O> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<O> Default for Group<O> {
    fn default() -> Self {
        Self {
            changed: BTreeSet::new(),
            known: BTreeMap::new(),
            objects: BTreeMap::new(),
            shared: BTreeSet::new(),
            addresses: AddressSet::default(),
        }
    }
}

impl<O: Ord> Ledger<O> {
    /// Notes that an object of a group changed. It is read later: the order of notes says nothing about the order of changes.
    pub fn note(&self, group: String, object: O) {
        self.0.lock().entry(group).or_default().changed.insert(object);
    }

    /// Returns what is taken of a group. `read` returns the current address of an object that changed.
    pub fn taken(&self, group: &str, read: impl Fn(&O) -> Option<IpAddr>) -> Taken {
        let mut groups = self.0.lock();
        let Some(found) = groups.get_mut(group) else { return Taken::default() };
        for object in std::mem::take(&mut found.changed) {
            let address = read(&object);
            found.set(object, address);
        }
        let taken = Taken {
            addresses: found.addresses.clone(),
            shared: found.shared.clone(),
            objects: found.known.len(),
        };
        if taken.objects == 0 {
            groups.remove(group);
        }
        taken
    }
}

impl<O: Ord> Group<O> {
    fn set(&mut self, object: O, address: Option<IpAddr>) {
        if let Some(old) = self.known.remove(&object) {
            self.count(old, false);
        }
        if let Some(address) = address {
            self.known.insert(object, address);
            self.count(address, true);
        }
    }

    /// Counts one object more or less with this address.
    fn count(&mut self, address: IpAddr, is_more: bool) {
        let count = self.objects.entry(address).or_default();
        *count = if is_more { count.saturating_add(1) } else { count.saturating_sub(1) };
        let now = *count;
        if now == 0 {
            self.objects.remove(&address);
            self.addresses.remove(address);
        } else {
            self.addresses.insert(address);
        }
        if now > 1 {
            self.shared.insert(address);
        } else {
            self.shared.remove(&address);
        }
    }
}
