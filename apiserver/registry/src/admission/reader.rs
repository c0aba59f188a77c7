//! Reading other objects, for rules that depend on them.

use kinds::definition::Definition;
use serde_json::Value;

use crate::registry::Registry;
use crate::storage::keys;

/// Reads objects as they are stored, without a request: nobody is asked for permission, because the rules decide, not the user. What
/// was written at the same time may be missing.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a Registry);

impl<'a> Reader<'a> {
    pub(crate) fn new(registry: &'a Registry) -> Self {
        Self(registry)
    }

    /// Returns an object in its storage version. The namespace is empty for cluster-scoped objects.
    ///
    /// # Errors
    /// A sentence: the kind is not served, or what is stored cannot be read.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let definitions = self.0.definitions();
        let definition = definitions.by_kind(group, kind).ok_or_else(|| not_served(group, kind))?;
        // References come from users, who can write anything. With a slash, they would be another key.
        if [namespace, name].iter().any(|part| part.contains('/')) {
            return Ok(None);
        }
        let entry = self.0.storage().get(&keys::object(definition, namespace, name));
        entry.map(|entry| read(definition, &entry.value)).transpose()
    }

    /// Returns all objects of a kind in a namespace, or in all if it is empty, in their storage version.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn list(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        let definitions = self.0.definitions();
        let definition = definitions.by_kind(group, kind).ok_or_else(|| not_served(group, kind))?;
        let (stored, _) = self.0.storage().range(&keys::namespace(definition, namespace));
        stored.iter().map(|stored| read(definition, &stored.value)).collect()
    }
}

fn not_served(group: &str, kind: &str) -> String {
    format!("the server has no kind {kind} ({group})")
}

fn read(definition: &Definition, text: &[u8]) -> Result<Value, String> {
    let object = machinery::decode::own(text)
        .map_err(|error| format!("a stored {} cannot be read: {error}", definition.kind))?;
    Ok(definition.converted(object, &definition.storage_version))
}
