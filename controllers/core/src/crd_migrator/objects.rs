//! Writes the objects of a definition.

use std::collections::BTreeSet;

use engine::objects::FIELD_MANAGER;
use engine::{Error, NamespacedName, Result};
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ObjectMeta, PartialObjectMeta};
use machinery::clock::Clock;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::plan::{Task, cleaned};

/// The number of objects in a page.
const PAGE: u32 = 500;
/// The number of objects that are written at the same time.
const AT_ONCE: usize = 8;
/// How often a write of an object is tried that others change at the same time.
const ATTEMPTS: usize = 5;

/// The objects of one definition during its migration.
pub(super) struct Migration<'a> {
    pub client: &'a Client,
    pub clock: &'a Clock,
    pub task: &'a Task,
    /// The objects that are stored in the storage version, so that a repeated migration does not write them again.
    pub done: &'a Mutex<BTreeSet<NamespacedName>>,
}

impl Migration<'_> {
    /// Migrates all objects. A failure of one does not prevent the others.
    ///
    /// # Errors
    /// The first errors.
    pub async fn run(&self) -> Result<()> {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.task.resource);
        let mut parameters = ListParams::default().limit(PAGE);
        let mut errors = Vec::new();
        loop {
            let page = all.list_metadata(&parameters).await;
            let page =
                page.map_err(|error| Error::api(format!("list {}", self.task.resource.kind), error))?;
            let steps = page.items.into_iter().map(|object| self.object(object.metadata));
            let results: Vec<Result<()>> = futures::stream::iter(steps).buffered(AT_ONCE).collect().await;
            errors.extend(results.into_iter().filter_map(Result::err));
            errors.truncate(ATTEMPTS);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = ListParams::default().limit(PAGE).continue_token(&token),
                None => return Error::aggregate(errors),
            }
        }
    }

    async fn object(&self, mut object: ObjectMeta) -> Result<()> {
        let key = NamespacedName::of(&PartialObjectMeta::<DynamicObject> {
            types: None,
            metadata: object.clone(),
            _phantom: std::marker::PhantomData,
        });
        if self.task.rewrites && !self.done.lock().contains(&key) {
            if let Some(rewritten) = self.rewrite(&key, &object).await? {
                object = rewritten;
            }
            self.done.lock().insert(key.clone());
        }
        self.clean(&key, object).await
    }

    fn api(&self, key: &NamespacedName) -> Api<DynamicObject> {
        match key.scope() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &self.task.resource),
            None => Api::all_with(self.client.clone(), &self.task.resource),
        }
    }

    fn what(&self, verb: &str, key: &NamespacedName) -> String {
        format!("{verb} {} {key}", self.task.resource.kind)
    }

    /// Has the API server write the object, unchanged, in its storage version. Returns the metadata of the written object; `None` if it
    /// is gone, or somebody else has written it.
    async fn rewrite(&self, key: &NamespacedName, object: &ObjectMeta) -> Result<Option<ObjectMeta>> {
        let resource = &self.task.resource;
        let patch = Patch::Merge(json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {"name": key.name, "namespace": key.scope(), "resourceVersion": object.resource_version},
        }));
        let (api, parameters) = (self.api(key), parameters());
        let written = match self.task.has_status {
            true => api.patch_status(&key.name, &parameters, &patch).await,
            false => api.patch(&key.name, &parameters, &patch).await,
        };
        match written.map_err(|error| Error::api(self.what("migrate", key), error)) {
            Ok(written) => Ok(Some(written.metadata)),
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the entries of versions that are not served from the `managedFields` of an object.
    async fn clean(&self, key: &NamespacedName, mut object: ObjectMeta) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let Some(fields) = cleaned(&object, self.task, self.clock.now()) else { return Ok(()) };
            match self.write_fields(key, &object, &fields).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
            let current = self.api(key).get_metadata_opt(&key.name).await;
            let current = current.map_err(|error| Error::api(self.what("get", key), error))?;
            let Some(current) = current else { return Ok(()) };
            object = current.metadata;
        }
        Err(Error::failed(format!(
            "{}: others change it all the time",
            self.what("clean managedFields of", key)
        )))
    }

    async fn write_fields(
        &self,
        key: &NamespacedName,
        object: &ObjectMeta,
        fields: &[ManagedFieldsEntry],
    ) -> Result<()> {
        let patch: Patch<Value> = Patch::Merge(json!({
            "metadata": {"resourceVersion": object.resource_version, "managedFields": fields},
        }));
        let written = self.api(key).patch_metadata(&key.name, &parameters(), &patch).await;
        written.map(drop).map_err(|error| Error::api(self.what("clean managedFields of", key), error))
    }
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() }
}
