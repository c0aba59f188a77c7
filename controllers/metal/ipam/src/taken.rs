//! The taken addresses of pools. They follow the changes of addresses, so that an allocation does not read all addresses of its pool.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use parking_lot::Mutex;

use crate::claims::Api;
use crate::pool::{following, preceding};

/// A set of addresses as runs: the first address of each run with its last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken(BTreeMap<IpAddr, IpAddr>);

impl Taken {
    /// Returns the last address of the run that contains `address`.
    fn end_of_run(&self, address: IpAddr) -> Option<IpAddr> {
        let (_, last) = self.0.range(..=address).next_back()?;
        (*last >= address).then_some(*last)
    }

    /// Returns whether the set contains `address`.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.end_of_run(address).is_some()
    }

    /// Returns the first address from `address` on that is not in the set.
    pub fn first_absent(&self, address: IpAddr) -> Option<IpAddr> {
        match self.end_of_run(address) {
            Some(last) => following(last),
            None => Some(address),
        }
    }

    /// Adds `address`. Returns whether it was absent.
    pub fn insert(&mut self, address: IpAddr) -> bool {
        if self.contains(address) {
            return false;
        }
        let (mut first, mut last) = (address, address);
        let before = preceding(address).and_then(|before| self.0.range(..=before).next_back());
        if let Some((start, _)) = before.filter(|(_, end)| following(**end) == Some(address)) {
            first = *start;
        }
        if let Some(end) = following(address).and_then(|next| self.0.remove(&next)) {
            last = end;
        }
        self.0.insert(first, last);
        true
    }

    /// Removes `address`.
    fn remove(&mut self, address: IpAddr) {
        let Some((first, last)) = self.0.range(..=address).next_back().map(|(first, last)| (*first, *last))
        else {
            return;
        };
        if last < address {
            return;
        }
        self.0.remove(&first);
        if let Some(before) = preceding(address).filter(|before| first <= *before && first != address) {
            self.0.insert(first, before);
        }
        if let Some(next) = following(address).filter(|next| *next <= last && last != address) {
            self.0.insert(next, last);
        }
    }

    /// Adds all addresses of `other`.
    pub fn extend(&mut self, other: &Self) {
        for (first, last) in &other.0 {
            let mut next = Some(*first);
            while let Some(address) =
                next.and_then(|next| self.first_absent(next)).filter(|next| next <= last)
            {
                self.insert(address);
                next = following(address);
            }
        }
    }
}

impl FromIterator<IpAddr> for Taken {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        let mut taken = Self::default();
        for address in addresses {
            taken.insert(address);
        }
        taken
    }
}

/// An address object.
type Object = (Api, String);

/// The taken addresses by group of objects. A group has the addresses of a pool, or those with one prefix in their names.
#[derive(Default)]
pub struct Ledger(Mutex<BTreeMap<String, Group>>);

#[derive(Default)]
struct Group {
    /// The objects that changed since they were read.
    changed: BTreeSet<Object>,
    known: BTreeMap<Object, IpAddr>,
    /// The number of objects with each address.
    objects: BTreeMap<IpAddr, usize>,
    taken: Taken,
}

impl Ledger {
    /// Notes that an object of a group changed. It is read later: the order of notes says nothing about the order of changes.
    pub fn note(&self, group: String, api: Api, name: &str) {
        self.0.lock().entry(group).or_default().changed.insert((api, name.to_owned()));
    }

    /// Returns the taken addresses of a group, and the number of its objects. `read` returns the current address of an object that changed.
    pub fn taken(&self, group: &str, read: impl Fn(Api, &str) -> Option<IpAddr>) -> (Taken, usize) {
        let mut groups = self.0.lock();
        let Some(found) = groups.get_mut(group) else { return Default::default() };
        for object in std::mem::take(&mut found.changed) {
            let address = read(object.0, &object.1);
            found.set(object, address);
        }
        let (taken, count) = (found.taken.clone(), found.known.len());
        if count == 0 {
            groups.remove(group);
        }
        (taken, count)
    }
}

impl Group {
    fn set(&mut self, object: Object, address: Option<IpAddr>) {
        if let Some(old) = self.known.remove(&object) {
            let count = self.objects.entry(old).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.objects.remove(&old);
                self.taken.remove(old);
            }
        }
        if let Some(address) = address {
            self.known.insert(object, address);
            *self.objects.entry(address).or_default() += 1;
            self.taken.insert(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(low: u32) -> IpAddr {
        Ipv4Addr::from_bits(low).into()
    }

    /// Compares with a set of single addresses, for all orders in which six addresses change.
    #[test]
    fn runs_are_a_set() {
        for seed in 0..5_000_u32 {
            let (mut taken, mut model, mut state) = (Taken::default(), BTreeSet::new(), seed);
            for _ in 0..14 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = address((state >> 20) % 6);
                if (state >> 28) % 3 == 0 {
                    taken.remove(at);
                    model.remove(&at);
                } else {
                    assert_eq!(taken.insert(at), model.insert(at));
                }
                for low in 0..6 {
                    assert_eq!(
                        taken.contains(address(low)),
                        model.contains(&address(low)),
                        "{taken:?} {model:?}"
                    );
                    let absent = (low..).map(address).find(|address| !model.contains(address));
                    assert_eq!(taken.first_absent(address(low)), absent, "{taken:?}");
                }
            }
            let mut both: Taken = (2..4).map(address).collect();
            both.extend(&taken);
            let expected: Taken = model.iter().copied().chain((2..4).map(address)).collect();
            assert_eq!(both, expected);
        }
        let mut end: Taken = [address(u32::MAX), "::".parse().unwrap()].into_iter().collect();
        assert_eq!(end.first_absent(address(u32::MAX)), None);
        end.remove(address(u32::MAX));
        assert_eq!(end.first_absent(address(u32::MAX)), Some(address(u32::MAX)));
    }

    #[test]
    fn an_address_is_free_when_its_last_object_is_gone() {
        let ledger = Ledger::default();
        let read = |_: Api, name: &str| (name != "gone").then(|| address(7));
        ledger.note("g".into(), Api::Metal3, "a");
        ledger.note("g".into(), Api::ClusterApi, "a");
        let seven: Taken = [address(7)].into_iter().collect();
        assert_eq!(ledger.taken("g", read), (seven.clone(), 2));
        ledger.note("g".into(), Api::Metal3, "a");
        assert_eq!(ledger.taken("g", |_, _| None), (seven, 1));
        ledger.note("g".into(), Api::ClusterApi, "a");
        assert_eq!(ledger.taken("g", |_, _| None), (Taken::default(), 0));
        assert_eq!(ledger.taken("other", read), (Taken::default(), 0));
    }
}
