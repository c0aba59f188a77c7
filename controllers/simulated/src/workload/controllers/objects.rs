//! The objects of the cluster, read as the types that the rules need, and written.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::patch;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::{HistoryError, Page, Prefix, Revision, Snapshot, Store, Watcher};

use super::key::Key;
use crate::workload::api::{Api, Place};

/// Access to the objects of the cluster.
pub(super) struct Objects {
    pub store: Store,
    pub api: Api,
    pub clock: Clock,
    pub random: Random,
}

/// Reads an object. One that is not as its type says is none: the API server of a simulated cluster does not look at all fields of Pods.
pub(super) fn parse<K: DeserializeOwned>(object: &[u8]) -> Option<K> {
    serde_json::from_slice(object).ok()
}

impl Objects {
    /// Returns all objects of the cluster.
    pub fn all(&self) -> Snapshot {
        self.store.list(&Prefix::all(), &Page::default())
    }

    /// Returns the changes of all objects after a revision.
    ///
    /// # Errors
    /// The store has stopped, or its history does not reach back so far.
    pub fn watch(&self, from: Revision) -> Result<Watcher, HistoryError> {
        self.store.watch(&Prefix::all(), from)
    }

    /// Returns the time.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Returns the object of this name.
    pub fn get<K: DeserializeOwned>(&self, key: &Key) -> Option<K> {
        let (group, plural) = key.kind.resource();
        let key = store::Key::new(group, plural, Some(&key.namespace), &key.name).ok()?;
        parse(&self.store.get(&key)?.value)
    }

    /// Returns the objects of a resource in the namespace of their controller, which has this UID.
    pub fn owned<K: DeserializeOwned + kube::Resource>(
        &self,
        (group, plural): (&str, &str),
        namespace: &str,
        owner: &str,
    ) -> Vec<Arc<K>> {
        let Ok(prefix) = Prefix::namespace(group, plural, namespace) else { return Vec::new() };
        let all = self.store.list(&prefix, &Page::default());
        let parsed = all.items.iter().filter_map(|stored| parse::<K>(&stored.value));
        parsed.filter(|object| engine::owners::is_controlled_by(object, owner)).map(Arc::new).collect()
    }

    /// Creates an object, unless there is one of that name.
    ///
    /// # Errors
    /// Returns the refusal of the API.
    pub async fn create(&self, object: &impl Serialize) -> Result<(), Status> {
        self.api.ensure(json!(object)).await
    }

    /// Deletes a Pod.
    ///
    /// # Errors
    /// Returns the refusal of the API.
    pub async fn delete_pod(&self, pod: &Pod) -> Result<(), Status> {
        let namespace = pod.namespace().unwrap_or_default();
        self.api.delete(Place::pod(&namespace, &pod.name_any())).await
    }

    /// Writes what differs between two statuses of an object.
    ///
    /// # Errors
    /// Returns the refusal of the API.
    pub async fn write_status(
        &self,
        key: &Key,
        before: &impl Serialize,
        wanted: &impl Serialize,
    ) -> Result<(), Status> {
        let (before, wanted) = (json!({"status": before}), json!({"status": wanted}));
        let conditions = &wanted["status"]["conditions"];
        let differs = before["status"]["conditions"] != *conditions && conditions.is_array();
        let mut status = patch::difference(&before, &wanted).status.unwrap_or_else(|| json!({}));
        if differs && status.is_object() {
            status["conditions"] = conditions.clone();
        }
        if status == Value::Null || status == json!({}) {
            return Ok(());
        }
        self.api.merge_status(key.place(), json!({"status": status})).await
    }
}
