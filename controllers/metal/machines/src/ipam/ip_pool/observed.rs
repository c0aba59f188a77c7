//! The state that the plan depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use schemas::addresses::AddressSet;
use schemas::cluster::Cluster;
use schemas::metal3_ipam::IPPool;

use crate::ipam::claims::Api;

/// The state that the plan depends on.
#[derive(Debug, Default)]
pub struct Observed {
    /// Namespace and name of the pool.
    pub name: NamespacedName,
    /// The pool, if it exists.
    pub pool: Option<Arc<IPPool>>,
    /// The Cluster of the pool, if it exists.
    pub cluster: Option<Arc<Cluster>>,
    /// The claims without an address, and those that are being deleted.
    pub claims: Vec<Waiting>,
    /// The addresses of these claims, those that they ask for or that are reserved for them, and those that are being deleted.
    pub addresses: Vec<Known>,
    /// All addresses that cannot be given: those of the pool, and those of objects whose names have its prefix.
    pub taken: AddressSet,
    /// The number of addresses of the pool.
    pub allocated: usize,
    /// All addresses of the pool by claim, if its status is due.
    pub indexes: Option<BTreeMap<String, String>>,
}

/// A claim for which there is something to do.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The API of the claim.
    pub api: Api,
    /// Its name.
    pub name: String,
    /// The time of its creation.
    pub created: DateTime<Utc>,
    /// The address that it requests.
    pub requested: Option<String>,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether somebody else's finalizer is on it.
    pub is_used: bool,
    /// Whether this controller's finalizer is on it.
    pub has_finalizer: bool,
}

/// An address that is allocated.
#[derive(Debug, Clone)]
pub struct Known {
    /// The API of the address.
    pub api: Api,
    /// Name of the object.
    pub name: String,
    /// The address as text.
    pub address: String,
    /// Name of its claim.
    pub claim: String,
    /// Whether it belongs to the pool; if not, only its name has the pool's prefix.
    pub is_of_pool: bool,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether its claim exists.
    pub has_claim: bool,
}
