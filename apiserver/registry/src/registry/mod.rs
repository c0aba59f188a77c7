//! The interface of this crate: all objects, and the verbs on them.

mod open;
mod verbs;

use std::sync::Arc;

use machinery::random::Random;

use crate::storage::keys;
use crate::versions::definitions::{Definitions, Served};
use crate::write::writes::Writes;

/// All objects, and the verbs on them. Cheap to clone.
#[derive(Clone)]
pub struct Registry(Arc<Writes>);

impl Registry {
    /// Returns the resource, or `None` if this version of it is not served.
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        self.0.versions().served(group, version, plural)
    }

    /// Returns all current resources.
    pub fn definitions(&self) -> Arc<Definitions> {
        self.0.versions().definitions()
    }

    /// Returns the size of a stored object in bytes; 0 if it does not exist.
    pub fn stored_bytes(&self, served: &Served, namespace: &str, name: &str) -> usize {
        self.0.storage().bytes(&keys::object(&served.definition, namespace, name))
    }

    /// Returns the store of the objects.
    pub fn store(&self) -> &store::Store {
        self.0.storage().store()
    }

    /// Returns the source of names and uids.
    pub fn random(&self) -> &Random {
        self.0.random()
    }
}
