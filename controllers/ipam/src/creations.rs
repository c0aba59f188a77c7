//! The creations of IPAddresses whose outcome is not known.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Error, NamespacedName};
use parking_lot::Mutex;

/// The IPAddresses of each pool that may or may not exist: those that are being created, and those whose creation was not answered.
#[derive(Default)]
pub struct Creations(Mutex<BTreeMap<NamespacedName, BTreeSet<NamespacedName>>>);

impl Creations {
    /// Notes that an IPAddress of `pool` is about to be created. The note stays if the reconcile is cancelled.
    pub fn begin(&self, pool: &NamespacedName, address: &NamespacedName) {
        self.0.lock().entry(pool.clone()).or_default().insert(address.clone());
    }

    /// Removes the note: it is known whether the IPAddress exists.
    pub fn end(&self, pool: &NamespacedName, address: &NamespacedName) {
        let mut all = self.0.lock();
        if let Some(open) = all.get_mut(pool) {
            open.remove(address);
            if open.is_empty() {
                all.remove(pool);
            }
        }
    }

    /// Returns the IPAddresses of `pool` whose outcome is not known.
    pub fn open(&self, pool: &NamespacedName) -> Vec<NamespacedName> {
        self.0.lock().get(pool).into_iter().flatten().cloned().collect()
    }
}

/// Returns whether an error says that the API server has not executed the request.
pub fn is_refusal(error: &Error) -> bool {
    error.status().is_some_and(|status| (400..500).contains(&status.code) && status.code != 408)
}
