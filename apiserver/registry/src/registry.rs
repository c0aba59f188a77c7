//! The registry and its state.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::Notify;

use crate::options::Options;
use crate::storage::entries::Storage;
use crate::versions::definitions::{Definitions, Served};

/// All objects, and the verbs on them. Cheap to clone.
#[derive(Clone)]
pub struct Registry(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) storage: Storage,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) options: Options,
    pub(crate) admission: crate::admission::configured::Cache,
    pub(crate) definitions: RwLock<Arc<Definitions>>,
    /// Wakes watches in the order in which they wait, so that a simulation is the same in each run. `tokio::sync::watch` has a random order.
    pub(crate) definitions_changed: Notify,
    /// Held for reading from the last look at the namespace and the definition of a new object until its write has begun. Whoever removes
    /// the content of a namespace or of a definition first takes it for writing, and then waits for the writes that have begun: what was
    /// allowed before the deletion is stored then, also for a client that has gone, and nothing is created afterwards.
    pub(crate) creations: RwLock<()>,
}

impl Registry {
    /// Returns the resource, or `None` if this version of it is not served.
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        self.0.definitions.read().served(group, version, plural)
    }

    /// Returns the size of a stored object in bytes; 0 if it does not exist.
    pub fn stored_bytes(&self, served: &Served, namespace: &str, name: &str) -> usize {
        let key = crate::storage::keys::object(&served.definition, namespace, name);
        self.0.storage.get(&key).map_or(0, |entry| entry.value.len())
    }

    /// Returns all current resources.
    pub fn definitions(&self) -> Arc<Definitions> {
        self.0.definitions.read().clone()
    }

    /// Waits until the definitions differ from those of `served`: its kind has changed or was removed. The definitions of built-in kinds never change.
    pub(crate) async fn replaced(&self, served: &Served) {
        if served.definition.built_in {
            return std::future::pending().await;
        }
        loop {
            let changed = self.0.definitions_changed.notified();
            if !served.is_current(&self.definitions()) {
                return;
            }
            changed.await;
        }
    }

    /// Returns the store of the objects.
    pub fn store(&self) -> &store::Store {
        self.0.storage.store()
    }

    /// Returns the source of names and uids.
    pub fn random(&self) -> &Random {
        &self.0.random
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.0.storage
    }

    /// Returns the current time in the format of `metav1.Time`.
    pub(crate) fn now(&self) -> String {
        machinery::clock::rfc3339(self.0.clock.now())
    }

    /// Changes the set of definitions.
    pub(crate) fn redefine(&self, change: impl FnOnce(&mut Definitions)) {
        let mut guard = self.0.definitions.write();
        let mut definitions = Definitions::clone(&guard);
        change(&mut definitions);
        *guard = Arc::new(definitions);
        drop(guard);
        self.0.definitions_changed.notify_waiters();
    }
}

impl Registry {
    /// Returns an object in its stored version. Returns `None` if the kind is not served or the object does not exist.
    pub(crate) fn stored_object(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        let definitions = self.definitions();
        let key = crate::storage::keys::object(definitions.get(group, plural)?, namespace, name);
        machinery::decode::own(&self.storage().get(&key)?.value).ok()
    }

    pub(crate) fn stored_objects(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let definitions = self.definitions();
        let Some(definition) = definitions.get(group, plural) else { return Vec::new() };
        let (stored, _) = self.storage().range(&crate::storage::keys::namespace(definition, namespace));
        stored.iter().filter_map(|entry| machinery::decode::own(&entry.value).ok()).collect()
    }
}
