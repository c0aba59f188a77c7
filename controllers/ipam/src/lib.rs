//! The in-cluster IPAM provider: the pools InClusterIPPool and GlobalInClusterIPPool of `ipam.cluster.x-k8s.io`, and the
//! IPAddressClaims that refer to them.
//!
//! [`pool`] is the controller of a pool with all its claims. An IPAddress has the name of its claim, as upstream's have, so that
//! upstream's provider keeps every address when it takes over. Two claims never get one address for these reasons: one reconcile at a
//! time serves a pool, it knows the answers of all its own writes, and while the outcome of a creation is unknown, nothing is
//! allocated ([`creations`]). The status of claim and pool are made from the IPAddresses.

pub mod claims;
pub mod creations;
pub mod ledger;
pub mod limits;
pub mod names;
pub mod pool;
pub mod pools;

use engine::{Descriptor, GroupKind, Provider};
use schemas::ipam::{GlobalInClusterIPPool, InClusterIPPool};

/// The table of the controllers of pools. clusterctl's inventory does not list them from the start, because `clusterctl move` refuses
/// a target that does not have every listed provider.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[
        Descriptor {
            name: "inclusterippool",
            reconciles: &[GroupKind::new(InClusterIPPool::GROUP, InClusterIPPool::KIND)],
            start: |manager, ()| pool::start::<InClusterIPPool>(manager, "inclusterippool"),
        },
        Descriptor {
            name: "globalinclusterippool",
            reconciles: &[GroupKind::new(GlobalInClusterIPPool::GROUP, GlobalInClusterIPPool::KIND)],
            start: |manager, ()| pool::start::<GlobalInClusterIPPool>(manager, "globalinclusterippool"),
        },
    ],
}];
