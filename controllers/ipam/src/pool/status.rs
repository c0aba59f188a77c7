//! The status of a pool: its numbers of addresses.

use schemas::addresses::AddressSet;
use schemas::ipam::InClusterIPPoolStatusIPAddresses;

use crate::ledger::Taken;

/// Returns the numbers of a pool. `all` are the addresses that it allocates.
pub fn numbers(all: &AddressSet, taken: &Taken) -> InClusterIPPoolStatusIPAddresses {
    let mut outside = taken.addresses.clone();
    outside.subtract(all);
    let inside = taken.addresses.count() - outside.count();
    InClusterIPPoolStatusIPAddresses {
        total: shown(all.count()),
        used: shown(u128::try_from(taken.objects).unwrap_or(u128::MAX)),
        free: shown(all.count() - inside),
        out_of_range: shown(outside.count()),
    }
}

/// Returns a number as upstream shows it: one that is too large is the largest of 64 bits.
fn shown(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
