//! All Cluster API objects of a plan at one moment.

use std::collections::BTreeMap;

use serde_json::Value;
use store::{Event, EventKind};

use super::object::Reference;

/// The current objects, by group, kind, namespace and name.
#[derive(Debug, Clone, Default)]
pub struct View(BTreeMap<String, Value>);

/// A change of an object that the view has taken in.
#[derive(Debug, Clone)]
pub struct Change {
    /// The key of the object in the view.
    pub key: String,
    /// The object before; `None` if it is new.
    pub old: Option<Value>,
    /// The object after; `None` if it is gone.
    pub new: Option<Value>,
}

impl Change {
    /// Returns the object after the change, or before it if the object is gone.
    pub fn object(&self) -> &Value {
        self.new.as_ref().or(self.old.as_ref()).unwrap_or(&Value::Null)
    }
}

impl View {
    /// Takes in an event of the store. Returns the change, if it is one of an object of Cluster API or its providers.
    pub fn observe(&mut self, event: &Event) -> Option<Change> {
        if !is_followed(event.key().group()) {
            return None;
        }
        let object: Value = serde_json::from_slice(&event.object.value).ok()?;
        let key = Reference::of(&object).key();
        Some(match event.kind {
            EventKind::Deleted => Change { old: self.0.remove(&key), new: None, key },
            EventKind::Added | EventKind::Modified => {
                Change { old: self.0.insert(key.clone(), object.clone()), new: Some(object), key }
            }
        })
    }

    /// Returns the view with these objects added.
    #[must_use]
    pub fn with(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.0.extend(objects.into_iter().map(|object| (Reference::of(&object).key(), object)));
        self
    }

    /// Returns the object that a reference names.
    pub fn get(&self, reference: &Reference<'_>) -> Option<&Value> {
        self.0.get(&reference.key())
    }

    /// Returns the object with this key.
    pub fn by_key(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Returns the object to which the field `reference` of an object in `namespace` refers.
    pub fn referenced<'a>(&'a self, reference: &'a Value, namespace: &'a str) -> Option<&'a Value> {
        self.get(&Reference::read(reference, namespace)?)
    }

    /// Returns all objects of a kind of Cluster API itself (group `cluster.x-k8s.io`), by namespace and name.
    pub fn of_kind<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        let prefix = format!("cluster.x-k8s.io/{kind}/");
        let from = self.0.range(prefix.clone()..);
        from.take_while(move |(key, _)| key.starts_with(&prefix)).map(|(_, object)| object)
    }

    /// Returns all objects with their keys.
    pub fn all(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }
}

/// Returns whether the objects of a group are those of Cluster API or of a provider, and not of Kubernetes' own.
pub(super) fn is_followed(group: &str) -> bool {
    group.contains('.') && (!group.ends_with(".k8s.io") || group.ends_with("x-k8s.io"))
}
