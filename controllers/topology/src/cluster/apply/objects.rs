//! Applies the objects of a topology. Nothing is sent for an object that already is as it was applied last.

use std::sync::Arc;

use engine::object::is_deleting;
use engine::{Error, Kind, NamespacedName, Objects, Result};
use kube::api::DynamicObject;
use schemas::cluster::{Cluster, MachineHealthCheck};
use serde_json::Value;

use super::super::configuration::{self, FIELD_MANAGER};
use super::super::observe::{TopologyController, version_and_kind};
use super::events::{self, quoted};

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

impl TopologyController {
    /// Creates an object of any kind that does not exist yet, and records it.
    pub(super) async fn create(&self, cluster: &Cluster, desired: &Value) -> Result<()> {
        let (version, kind) = version_and_kind(desired);
        let objects = self.external.objects_at(version, kind).await?;
        self.apply_to(cluster, &objects, None, desired).await?;
        self.event(cluster, "TopologyCreate", format!("Created {kind} {}", quoted(desired)));
        Ok(())
    }

    /// Creates or changes an object that keeps its name: the infrastructure, a control plane, the objects of a MachinePool.
    pub(super) async fn apply_object(
        &self,
        cluster: &Cluster,
        current: Option<&Value>,
        desired: &Value,
    ) -> Result<Change> {
        let Some(current) = current else {
            self.create(cluster, desired).await?;
            return Ok(Change::Created);
        };
        if let Some(problem) = configuration::incompatible(current, desired) {
            return Err(Error::Failed(problem));
        }
        let (version, kind) = version_and_kind(desired);
        let objects = self.external.objects_at(version, kind).await?;
        let change = self.apply_to(cluster, &objects, Some(current), desired).await?;
        if change == Change::Updated {
            let versions = (current.pointer("/spec/version"), desired.pointer("/spec/version"));
            let versions = events::version_change(
                versions.0.and_then(Value::as_str),
                versions.1.and_then(Value::as_str),
            );
            self.event(cluster, "TopologyUpdate", format!("Updated {kind} {}{versions}", quoted(desired)));
        }
        Ok(change)
    }

    /// Creates, changes or deletes a health check.
    pub(super) async fn apply_health_check(
        &self,
        cluster: &Cluster,
        current: Option<&Arc<MachineHealthCheck>>,
        desired: Option<&Value>,
    ) -> Result<()> {
        let Some(desired) = desired else {
            let Some(current) = current.filter(|current| !is_deleting(current.as_ref())) else {
                return Ok(());
            };
            self.checks.delete(current.as_ref()).await?;
            let name = NamespacedName::of(current.as_ref());
            let message = format!("Deleted MachineHealthCheck \"{name}\"");
            self.recorder.normal(current.as_ref(), &(), "TopologyDelete", message);
            return Ok(());
        };
        let before = current.map(|current| serde_json::to_value(current.as_ref())).transpose();
        let before = before.map_err(|error| Error::json("read a MachineHealthCheck", error))?;
        let change = self.apply_to(cluster, &self.checks, before.as_ref(), desired).await?;
        let done = match change {
            Change::Created => ("TopologyCreate", "Created"),
            Change::Updated => ("TopologyUpdate", "Updated"),
            Change::None => return Ok(()),
        };
        if let Some(check) = self.checks.get(&key_of(desired)) {
            let message = format!("{} MachineHealthCheck {}", done.1, quoted(desired));
            self.recorder.normal(check.as_ref(), &(), done.0, message);
        }
        Ok(())
    }

    /// Applies `desired` if it is not what was applied last, or if somebody else has changed it.
    ///
    /// # Errors
    /// The API server's refusal. The error about a new object does not contain its random name: a condition that repeats it would change
    /// with each attempt.
    pub(super) async fn apply_to<K: Kind>(
        &self,
        cluster: &Cluster,
        objects: &Objects<K>,
        current: Option<&Value>,
        desired: &Value,
    ) -> Result<Change> {
        let key = key_of(desired);
        let memory = self.memory.of(cluster);
        let configuration = configuration::of(desired, current);
        let Some(current) = current else {
            let created =
                objects.apply_changed_value(&memory.applied, FIELD_MANAGER, None, &key, configuration).await;
            return created.map(|_| Change::Created).map_err(|error| error.without_suffix(&key.name));
        };
        let read = self.cached(objects, current, &key)?;
        let stored = objects
            .apply_changed_value(&memory.applied, FIELD_MANAGER, Some(&read), &key, configuration)
            .await?;
        let is_same = stored.meta().resource_version == read.meta().resource_version;
        Ok(if is_same { Change::None } else { Change::Updated })
    }

    /// Returns the cached object from which `current` was read.
    ///
    /// # Errors
    /// It has been deleted since.
    pub(super) fn cached<K: Kind>(
        &self,
        objects: &Objects<K>,
        current: &Value,
        key: &NamespacedName,
    ) -> Result<Arc<K>> {
        let found = objects
            .get(key)
            .filter(|found| found.meta().uid.as_deref() == current["metadata"]["uid"].as_str());
        found.ok_or_else(|| Error::failed(format!("{} {key} has been deleted", objects.kind())))
    }

    /// Deletes an object of any kind; one that does not exist is not an error.
    pub(super) async fn delete(&self, cluster: &Cluster, object: &Value) -> Result<()> {
        let (version, kind) = version_and_kind(object);
        let objects: Objects<DynamicObject> = self.external.objects_at(version, kind).await?;
        match objects.get(&key_of(object)) {
            Some(found) => {
                self.memory.of(cluster).applied.forget(engine::object::uid(found.as_ref()));
                objects.delete(found.as_ref()).await
            }
            None => Ok(()),
        }
    }

    /// Deletes the objects that were created for another one which then could not be created or changed. What cannot be deleted now goes
    /// with the Cluster.
    pub(super) async fn clean_up(&self, cluster: &Cluster, created: &[&Value]) {
        for object in created {
            if let Err(error) = self.delete(cluster, object).await {
                tracing::debug!(%error, "an unused template could not be deleted");
            }
        }
    }

    pub(super) fn event(&self, cluster: &Cluster, reason: &str, message: String) {
        self.recorder.normal(cluster, &(), reason, message);
    }
}

/// Returns namespace and name of an object.
pub(super) fn key_of(object: &Value) -> NamespacedName {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    NamespacedName::new(text("namespace"), text("name"))
}
