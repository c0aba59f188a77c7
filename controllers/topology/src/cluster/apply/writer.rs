//! Writes the objects of one Cluster. Nothing is sent for an object that already is as it was applied last.

use std::sync::Arc;

use engine::object::{is_deleting, uid};
use engine::{Applied, Error, Kind, NamespacedName, Objects, Result};
use kube::api::DynamicObject;
use schemas::cluster::Cluster;
use serde_json::Value;

use super::super::configuration::{self, FIELD_MANAGER};
use super::events::{quoted, version_change};
use super::handles::Handles;
use crate::Workers;
use crate::object::{key, kind, version_and_kind};

/// What an apply has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The object was created.
    Created,
    /// The object was changed.
    Updated,
    /// The object was as it is wanted.
    None,
}

/// Writes the objects of one Cluster, with events about it.
pub struct Writer<'a> {
    /// What is written with.
    pub handles: &'a Handles,
    /// The Cluster.
    pub cluster: &'a Cluster,
    /// What was applied last to each of its objects.
    pub applied: &'a Applied,
}

impl Writer<'_> {
    /// Returns the handle on the kind of a provider's object, in its version.
    pub async fn objects(&self, object: &Value) -> Result<Objects<DynamicObject>> {
        let (version, kind) = version_and_kind(object);
        self.handles.external.objects_at(version, kind).await
    }

    /// Creates an object of a provider, or changes one that keeps its name: the infrastructure, a control plane, the objects of a MachinePool.
    pub async fn apply_object(&self, current: Option<&Value>, desired: &Value) -> Result<Change> {
        if let Some(problem) = current.and_then(|current| configuration::incompatible(current, desired)) {
            return Err(Error::Failed(problem));
        }
        self.apply_recorded(&self.objects(desired).await?, current, desired, "/spec/version").await
    }

    /// Creates or changes a MachineDeployment or MachinePool.
    pub async fn apply_workers<K: Kind<DynamicType = ()>>(
        &self,
        objects: &Objects<K>,
        current: Option<&Workers<K>>,
        desired: &Value,
    ) -> Result<()> {
        let before = current.map(|current| json(current.object.as_ref())).transpose()?;
        self.apply_recorded(objects, before.as_ref(), desired, "/spec/template/spec/version")
            .await
            .map(|_| ())
    }

    /// Applies `desired` and records what has changed, with the change of the version that is at the JSON pointer `version`.
    async fn apply_recorded<K: Kind>(
        &self,
        objects: &Objects<K>,
        current: Option<&Value>,
        desired: &Value,
        version: &str,
    ) -> Result<Change> {
        let change = self.apply(objects, current, desired).await?;
        let (kind, name) = (kind(desired), quoted(desired));
        match change {
            Change::Created => self.event("TopologyCreate", format!("Created {kind} {name}")),
            Change::Updated => {
                let of =
                    |object: &'_ Value| object.pointer(version).and_then(Value::as_str).map(str::to_owned);
                let versions = version_change(current.and_then(of).as_deref(), of(desired).as_deref());
                self.event("TopologyUpdate", format!("Updated {kind} {name}{versions}"));
            }
            Change::None => {}
        }
        Ok(change)
    }

    /// Applies `desired` if it is not what was applied last, or if somebody else has changed it.
    ///
    /// # Errors
    /// The API server's refusal. The error about a new object does not contain its random name: a condition that repeats it would change
    /// with each attempt.
    pub async fn apply<K: Kind>(
        &self,
        objects: &Objects<K>,
        current: Option<&Value>,
        desired: &Value,
    ) -> Result<Change> {
        let key = key(desired);
        let configuration = configuration::of(desired, current);
        let Some(current) = current else {
            let created = self.applied.apply_value(objects, FIELD_MANAGER, None, &key, configuration).await;
            return created.map(|_| Change::Created).map_err(|error| error.without_suffix(&key.name));
        };
        let read = cached(objects, current, &key)?;
        let stored =
            self.applied.apply_value(objects, FIELD_MANAGER, Some(&read), &key, configuration).await?;
        let is_same = stored.meta().resource_version == read.meta().resource_version;
        Ok(if is_same { Change::None } else { Change::Updated })
    }

    /// Deletes a MachineDeployment or MachinePool that is no longer in the topology.
    pub async fn delete_workers<K: Kind>(&self, objects: &Objects<K>, workers: &K) -> Result<()> {
        self.applied.forget(uid(workers));
        if is_deleting(workers) {
            return Ok(());
        }
        objects.delete(workers).await?;
        let name = NamespacedName::of(workers);
        self.event("TopologyDelete", format!("Deleted {} \"{name}\"", objects.kind()));
        Ok(())
    }

    /// Deletes an object of any kind; one that does not exist is not an error.
    pub async fn delete(&self, object: &Value) -> Result<()> {
        let objects = self.objects(object).await?;
        match objects.get(&key(object)) {
            Some(found) => {
                self.applied.forget(uid(found.as_ref()));
                objects.delete(found.as_ref()).await
            }
            None => Ok(()),
        }
    }

    /// Deletes the objects that were created for another one which then could not be created or changed. What cannot be deleted now goes
    /// with the Cluster.
    pub async fn clean_up(&self, created: &[&Value]) {
        for object in created {
            if let Err(error) = self.delete(object).await {
                tracing::debug!(%error, "an unused template could not be deleted");
            }
        }
    }

    /// Records an event about the Cluster.
    pub fn event(&self, reason: &str, message: String) {
        self.handles.recorder.normal(self.cluster, &(), reason, message);
    }
}

/// Returns the cached object from which `current` was read.
///
/// # Errors
/// It has been deleted since.
pub fn cached<K: Kind>(objects: &Objects<K>, current: &Value, key: &NamespacedName) -> Result<Arc<K>> {
    let found = objects.get(key);
    let found = found.filter(|found| found.meta().uid.as_deref() == current["metadata"]["uid"].as_str());
    found.ok_or_else(|| Error::failed(format!("{} {key} has been deleted", objects.kind())))
}

/// Returns the JSON of an object that exists.
pub fn json<K: Kind<DynamicType = ()>>(current: &K) -> Result<Value> {
    serde_json::to_value(current).map_err(|error| Error::json(format!("read a {}", K::kind(&())), error))
}
