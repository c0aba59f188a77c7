//! The registry itself: what it holds.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::definitions::{Definitions, Served};
use crate::options::Options;
use crate::storage::Storage;

/// All objects and what may be done to them. Cheap to clone.
#[derive(Clone)]
pub struct Registry(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) storage: Storage,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) options: Options,
    pub(crate) admission: crate::admission::Cache,
    pub(crate) definitions: RwLock<Arc<Definitions>>,
    pub(crate) changed: watch::Sender<u64>,
}

impl Registry {
    /// The resource, when that version of it is served.
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        self.0.definitions.read().served(group, version, plural)
    }

    /// The size of a stored object in bytes; 0 if it does not exist.
    pub fn stored_bytes(&self, served: &Served, namespace: &str, name: &str) -> usize {
        let key = crate::keys::object(&served.definition, namespace, name);
        self.0.storage.get(&key).map_or(0, |entry| entry.value.len())
    }

    /// All resources, as they are now.
    pub fn definitions(&self) -> Arc<Definitions> {
        self.0.definitions.read().clone()
    }

    /// Tells [`Definitions::generation`] at each change, for caches of discovery and OpenAPI.
    pub fn definitions_changed(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Where the objects are kept.
    pub fn store(&self) -> &store::Store {
        self.0.storage.store()
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.0.storage
    }

    /// Now, as `metav1.Time` is written.
    pub(crate) fn now(&self) -> String {
        machinery::clock::rfc3339(self.0.clock.now())
    }

    /// Replaces the set of definitions.
    pub(crate) fn redefine(&self, change: impl FnOnce(&mut Definitions)) {
        let mut guard = self.0.definitions.write();
        let mut definitions = Definitions::clone(&guard);
        change(&mut definitions);
        let generation = definitions.generation;
        *guard = Arc::new(definitions);
        drop(guard);
        self.0.changed.send_replace(generation);
    }
}
