//! Checks that at no time both sides reconcile the same cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use store::{Page, Prefix, Store};

use crate::place::Place;

/// Compares both stores after every write of the pivot.
#[derive(Clone)]
pub struct Watch(Arc<Inner>);

struct Inner {
    source: Store,
    target: Store,
    violations: Mutex<BTreeSet<String>>,
}

impl Watch {
    /// Watches these two servers.
    pub fn new(source: &Place, target: &Place) -> Self {
        let (source, target) = (source.store.clone(), target.store.clone());
        Self(Arc::new(Inner { source, target, violations: Mutex::default() }))
    }

    /// Records the objects that are not paused at either side.
    pub fn look(&self) {
        let (here, there) = (active(&self.0.source), active(&self.0.target));
        self.0.violations.lock().extend(here.intersection(&there).cloned());
    }

    /// The recorded objects.
    pub fn violations(&self) -> Vec<String> {
        self.0.violations.lock().iter().cloned().collect()
    }
}

/// Keys of the Clusters and ClusterClasses that the controllers of a server would reconcile.
pub(crate) fn active(store: &Store) -> BTreeSet<String> {
    let mut active = BTreeSet::new();
    for stored in store.list(&Prefix::all(), &Page::default()).items {
        let key = stored.key.as_str();
        if key.contains("/clusters/") || key.contains("/clusterclasses/") {
            let object: Value = serde_json::from_slice(&stored.value).unwrap_or_default();
            let paused = object["spec"]["paused"] == true
                || object["metadata"]["annotations"].get("cluster.x-k8s.io/paused").is_some();
            if !paused {
                active.insert(key.to_owned());
            }
        }
    }
    active
}
