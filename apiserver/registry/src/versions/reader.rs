//! Reading objects as they are stored, for rules and webhooks that depend on other objects than that of the request.

use std::sync::Arc;

use kinds::definition::Definition;
use kinds::strategy::Facts;
use parking_lot::RwLock;
use serde_json::Value;

use super::definitions::Definitions;
use crate::storage::entries::Storage;
use crate::storage::keys;

/// Reads objects as they are stored, without a request: nobody is asked for permission, because the rules decide, not the user. What
/// was written at the same time may be missing.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub(super) storage: &'a Storage,
    pub(super) definitions: &'a RwLock<Arc<Definitions>>,
}

impl Reader<'_> {
    /// Returns an object in its storage version. The namespace is empty for cluster-scoped objects.
    ///
    /// # Errors
    /// A sentence: the kind is not served, or what is stored cannot be read.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let definition = self.definition(group, kind)?;
        if !are_parts(namespace, name) {
            return Ok(None);
        }
        let entry = self.storage.get(&keys::object(&definition, namespace, name));
        entry.map(|entry| read(&definition, &entry.value)).transpose()
    }

    /// Returns all objects of a kind in a namespace, or in all if it is empty, in their storage version.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn list(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        let definition = self.definition(group, kind)?;
        let (stored, _) = self.storage.range(&keys::namespace(&definition, namespace));
        stored.iter().map(|stored| read(&definition, &stored.value)).collect()
    }

    pub(crate) fn storage(&self) -> &Storage {
        self.storage
    }

    /// Returns an object of a resource in the version in which it is stored. Returns `None` if the resource or the object does not exist, or
    /// the object cannot be read.
    pub(crate) fn stored_object(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        if !are_parts(namespace, name) {
            return None;
        }
        let definitions = self.definitions.read().clone();
        let key = keys::object(definitions.get(group, plural)?, namespace, name);
        machinery::decode::own(&self.storage.get(&key)?.value).ok()
    }

    /// Returns all objects of a resource in a namespace, or in all if it is empty, in the versions in which they are stored.
    pub(crate) fn stored_objects(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let definitions = self.definitions.read().clone();
        let Some(definition) = definitions.get(group, plural) else { return Vec::new() };
        let (stored, _) = self.storage.range(&keys::namespace(definition, namespace));
        stored.iter().filter_map(|entry| machinery::decode::own(&entry.value).ok()).collect()
    }

    fn definition(&self, group: &str, kind: &str) -> Result<Arc<Definition>, String> {
        let definitions = self.definitions.read().clone();
        let unknown = || format!("the server has no kind {kind} ({group})");
        definitions.by_kind(group, kind).cloned().ok_or_else(unknown)
    }
}

impl Facts for Reader<'_> {
    fn find(&self, group: &str, plural: &str, name: &str) -> Option<Value> {
        self.stored_object(group, plural, "", name)
    }

    fn all(&self, group: &str, plural: &str) -> Vec<Value> {
        self.stored_objects(group, plural, "")
    }
}

/// Returns whether these can be parts of a key. References come from users, who can write anything, and with a slash, they would be another
/// key.
fn are_parts(namespace: &str, name: &str) -> bool {
    [namespace, name].iter().all(|part| !part.contains('/'))
}

fn read(definition: &Definition, text: &[u8]) -> Result<Value, String> {
    let object = machinery::decode::own(text)
        .map_err(|error| format!("a stored {} cannot be read: {error}", definition.kind))?;
    Ok(definition.converted(object, &definition.storage_version))
}
