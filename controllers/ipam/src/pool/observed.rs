//! The state that the plan depends on.

use std::sync::Arc;

use engine::NamespacedName;
use schemas::ipam::{IPAddress, IPAddressClaim};

use crate::ledger::Taken;

/// The state that the plan depends on.
#[derive(Debug)]
pub struct Observed<P> {
    /// Namespace and name of the pool.
    pub name: NamespacedName,
    /// The pool, if it exists.
    pub pool: Option<Arc<P>>,
    /// The claims without an address, and those that are being deleted.
    pub claims: Vec<Waiting>,
    /// The addresses of the pool that are being deleted although no claim will release them.
    pub orphans: Vec<NamespacedName>,
    /// The addresses of the pool's IPAddresses.
    pub taken: Taken,
}

/// A claim for which there is something to do.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// The claim.
    pub claim: Arc<IPAddressClaim>,
    /// Its IPAddress of this pool.
    pub address: Option<Arc<IPAddress>>,
    /// An IPAddress with the name of the claim that is not the claim's.
    pub foreign: Option<Arc<IPAddress>>,
    /// Whether the claim is left alone: it or its Cluster is paused, or its Cluster does not exist, so that nobody knows.
    pub is_held: bool,
}
