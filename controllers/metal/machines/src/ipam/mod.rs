//! Metal3's IP address manager: IPPool, IPClaim and IPAddress of `ipam.metal3.io`, and the IPAddressClaims of Cluster API that refer to an
//! IPPool.
//!
//! [`pool`] finds free addresses and is pure, [`cluster_ipam::ledger`] follows the addresses that are not free, [`claims`] has the differences between the two kinds of claims, and [`ip_pool`] is the
//! controller of a pool with all its claims. An IPAddress has the name of its address, so only one IPAddress of a kind can have it: its
//! creation is the atomic step of an allocation. The status of claim and pool are made from the IPAddresses.

pub mod claims;
pub mod ip_pool;
pub mod names;
pub mod pool;

use engine::{Descriptor, GroupKind, Provider};
use schemas::metal3_ipam::{IPClaim, IPPool};

/// The table of the controllers of IP addresses.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[Descriptor {
        name: "ippool",
        reconciles: &[
            GroupKind::new(IPPool::GROUP, IPPool::KIND),
            GroupKind::new(IPClaim::GROUP, IPClaim::KIND),
        ],
        start: |manager, ()| ip_pool::start(manager),
    }],
}];
