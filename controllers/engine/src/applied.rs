//! Server-side apply that sends no request when nothing changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::object::{self, Kind, NamespacedName};
use crate::objects::Objects;
use machinery::hash::{fnv1a_32, fnv1a_64};

/// The configuration that each object last got from each field manager, by the object's UID. It is kept in memory only: after a restart
/// each object is applied once more, which changes nothing.
#[derive(Default)]
pub struct Applied(Mutex<BTreeMap<(String, String), Last>>);

/// No field manager has this name.
const LEFT: &str = "";

/// What was applied last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    /// Hash of the configuration.
    applied: u32,
    /// An object that contains all of it: hash of its wanted state, and its version.
    contained: Option<(u64, u64)>,
}

impl Applied {
    /// Forgets a deleted object.
    pub fn forget(&self, uid: &str) {
        self.0.lock().retain(|(known, _), _| known != uid);
    }

    /// Returns whether [`Applied::leave`] was called with the same arguments.
    pub(crate) fn is_left(&self, uid: &str, removed: u32, version: u64) -> bool {
        self.last(uid, LEFT) == Some(Last { applied: removed, contained: Some((0, version)) })
    }

    /// Remembers that an object keeps, in this version, metadata which its template does not have, because it belongs to others.
    pub(crate) fn leave(&self, uid: &str, removed: u32, version: u64) {
        self.set(uid, LEFT, Last { applied: removed, contained: Some((0, version)) });
    }

    fn last(&self, uid: &str, manager: &str) -> Option<Last> {
        self.0.lock().get(&(uid.to_owned(), manager.to_owned())).copied()
    }

    fn set(&self, uid: &str, manager: &str, last: Last) {
        self.0.lock().insert((uid.to_owned(), manager.to_owned()), last);
    }
}

impl<K: Kind> Objects<K> {
    /// Applies `wanted` as field manager `manager`, unless `wanted` equals the last applied configuration and
    /// `current` still contains all of it. Creates the object if `current` is `None`.
    ///
    /// # Errors
    /// Returns the API server's refusal, or the client's failure to reach it.
    pub async fn apply_changed(
        &self,
        applied: &Applied,
        manager: &str,
        current: Option<&Arc<K>>,
        wanted: &K,
    ) -> Result<Arc<K>> {
        let key = NamespacedName::of(wanted);
        let wanted_hash = self.text_hash(&key, wanted)?;
        if let Some(current) = current {
            let contained = Some((wanted_hash, object::version(current.as_ref())));
            let last = self.last(applied, manager, current);
            if last.is_some_and(|last| last.contained == contained) {
                return Ok(current.clone());
            }
        }
        let mut configuration = self.json("apply", wanted)?;
        if let Value::Object(map) = &mut configuration {
            let dynamic = self.dynamic_type();
            map.entry("apiVersion").or_insert_with(|| K::api_version(dynamic).into());
            map.entry("kind").or_insert_with(|| K::kind(dynamic).into());
            map.remove("status");
        }
        let stored = self.apply_changed_value(applied, manager, current, &key, configuration).await?;
        if let Some(last) = self.last(applied, manager, &stored)
            && current.is_some_and(|current| Arc::ptr_eq(current, &stored))
        {
            // Nothing was sent, so the object was compared.
            let contained = Some((wanted_hash, object::version(stored.as_ref())));
            applied.set(object::uid(stored.as_ref()), manager, Last { contained, ..last });
        }
        Ok(stored)
    }

    /// Like [`Objects::apply_changed`], for a configuration with only some of the kind's fields.
    ///
    /// # Errors
    /// Returns the API server's refusal, or the client's failure to reach it.
    pub async fn apply_changed_value(
        &self,
        applied: &Applied,
        manager: &str,
        current: Option<&Arc<K>>,
        key: &NamespacedName,
        configuration: Value,
    ) -> Result<Arc<K>> {
        if let Some(current) = current
            && self.is_applied_value(applied, manager, current, &configuration)?
        {
            return Ok(current.clone());
        }
        let hash = hash(&configuration);
        let stored = self.apply_value(manager, key, configuration).await?;
        applied.set(object::uid(stored.as_ref()), manager, Last { applied: hash, contained: None });
        Ok(stored)
    }

    /// Returns whether `configuration` is what `manager` applied last to `current`, and `current` still contains all of it.
    ///
    /// # Errors
    /// Fails if `current` has no JSON.
    pub fn is_applied_value(
        &self,
        applied: &Applied,
        manager: &str,
        current: &Arc<K>,
        configuration: &Value,
    ) -> Result<bool> {
        let is_last =
            self.last(applied, manager, current).is_some_and(|last| last.applied == hash(configuration));
        Ok(is_last && contains(&self.json("apply", current.as_ref())?, &without_type(configuration)))
    }

    fn last(&self, applied: &Applied, manager: &str, object: &Arc<K>) -> Option<Last> {
        applied.last(object::uid(object.as_ref()), manager)
    }

    /// Returns a hash of the whole wanted object. A MachineSet asks for each of its Machines whenever one of them changes, so this must
    /// cost less than the comparison that it saves.
    fn text_hash(&self, key: &NamespacedName, object: &K) -> Result<u64> {
        let what = || format!("apply {} {key}", self.kind());
        let text = serde_json::to_vec(object).map_err(|error| Error::json(what(), error))?;
        Ok(fnv1a_64(&text))
    }
}

/// Returns a configuration without `apiVersion` and `kind`, which objects in the cache may lack.
fn without_type(configuration: &Value) -> Value {
    let mut configuration = configuration.clone();
    if let Value::Object(map) = &mut configuration {
        map.retain(|key, _| key != "apiVersion" && key != "kind");
    }
    configuration
}

/// Returns a hash of the applied configuration. `metadata.uid` is left out, since it does not change what is
/// applied.
fn hash(wanted: &Value) -> u32 {
    let mut wanted = wanted.clone();
    if let Some(Value::Object(metadata)) = wanted.get_mut("metadata") {
        metadata.remove("uid");
    }
    fnv1a_32(wanted.to_string().as_bytes())
}

/// Returns whether `whole` contains everything in `part`. Lists must be equal element by element; a list of
/// strings or of objects with a `uid` (finalizers, owner references) in `whole` may hold further elements.
pub fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
            part.iter().all(|(key, value)| match whole.get(key) {
                Some(present) => contains(present, value),
                None => value.is_null() || empty(value),
            })
        }
        (Value::Array(whole), Value::Array(part)) => {
            if part.iter().any(|element| element.get("uid").is_some() || element.is_string()) {
                return part.iter().all(|element| whole.iter().any(|present| contains(present, element)));
            }
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}
