//! All Cluster API objects of a plan at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use store::{Event, EventKind};

use super::object::{Reference, is_foreign};

/// The current objects, by group, kind, namespace and name. They have no `managedFields`, which nobody reads here.
#[derive(Debug, Clone, Default)]
pub struct View {
    objects: BTreeMap<String, Arc<Value>>,
    /// The keys of the objects that stand-ins look after.
    foreign: BTreeSet<String>,
}

/// A change of an object that the view has taken in.
#[derive(Debug, Clone)]
pub struct Change {
    /// The key of the object in the view.
    pub key: String,
    /// The object before; `None` if it is new.
    pub old: Option<Arc<Value>>,
    /// The object after; `None` if it is gone.
    pub new: Option<Arc<Value>>,
}

impl Change {
    /// Returns the object after the change, or before it if the object is gone.
    pub fn object(&self) -> &Value {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or(&Value::Null)
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
            EventKind::Deleted => {
                self.foreign.remove(&key);
                Change { old: self.objects.remove(&key), new: None, key }
            }
            EventKind::Added | EventKind::Modified => {
                let (old, new) = self.insert(key.clone(), object);
                Change { old, new: Some(new), key }
            }
        })
    }

    /// Stores an object; returns the one before, and the stored one.
    fn insert(&mut self, key: String, mut object: Value) -> (Option<Arc<Value>>, Arc<Value>) {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        if is_foreign(&object) {
            self.foreign.insert(key.clone());
        }
        let object = Arc::new(object);
        (self.objects.insert(key, object.clone()), object)
    }

    /// Returns the view with these objects added.
    #[must_use]
    pub fn with(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        for object in objects {
            self.insert(Reference::of(&object).key(), object);
        }
        self
    }

    /// Returns whether there is an object that stand-ins look after.
    pub fn has_foreign(&self) -> bool {
        !self.foreign.is_empty()
    }

    /// Returns the object that a reference names.
    pub fn get(&self, reference: &Reference<'_>) -> Option<&Value> {
        self.objects.get(&reference.key()).map(Arc::as_ref)
    }

    /// Returns the object with this key.
    pub fn by_key(&self, key: &str) -> Option<&Value> {
        self.objects.get(key).map(Arc::as_ref)
    }

    /// Returns the object to which the field `reference` of an object in `namespace` refers.
    pub fn referenced<'a>(&'a self, reference: &'a Value, namespace: &'a str) -> Option<&'a Value> {
        self.get(&Reference::read(reference, namespace)?)
    }

    /// Returns a Cluster.
    pub fn cluster(&self, namespace: &str, name: &str) -> Option<&Value> {
        self.get(&Reference { group: "cluster.x-k8s.io", kind: "Cluster", namespace, name })
    }

    /// Returns all objects of a kind of Cluster API itself (group `cluster.x-k8s.io`), by namespace and name.
    pub fn of_kind<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        let prefix = format!("cluster.x-k8s.io/{kind}/");
        let from = self.objects.range(prefix.clone()..);
        from.take_while(move |(key, _)| key.starts_with(&prefix)).map(|(_, object)| object.as_ref())
    }

    /// Returns all objects with their keys.
    pub fn all(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.iter().map(|(key, object)| (key, object.as_ref()))
    }
}

/// Returns whether the objects of a group are those of Cluster API or of a provider, and not of Kubernetes' own.
pub(super) fn is_followed(group: &str) -> bool {
    group.contains('.') && (!group.ends_with(".k8s.io") || group.ends_with("x-k8s.io"))
}
