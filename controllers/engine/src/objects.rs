//! The handle on all objects of a kind: it reads from the cache and writes through the client.

use std::ops::Deref;
use std::sync::Arc;

use kube::Client;
use kube::api::{
    DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
    ValidationDirective,
};
use kube::core::{Request, TypeMeta};
use serde_json::Value;

use crate::answers::without_managed_fields;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::object::{self, Kind, NamespacedName};

/// The field manager of all writes except server-side apply. Cluster API's managers write under their
/// binary's name, `manager`; with the same name, they keep the ownership of these fields after a pivot.
pub const FIELD_MANAGER: &str = "manager";

/// All objects of a kind. Dereferences to their [`Cache`]; a write is visible in the cache when the call
/// returns.
pub struct Objects<K: Kind> {
    client: Client,
    dynamic: K::DynamicType,
    cache: Cache<K>,
}

impl<K: Kind> Clone for Objects<K> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), dynamic: self.dynamic.clone(), cache: self.cache.clone() }
    }
}

impl<K: Kind> Deref for Objects<K> {
    type Target = Cache<K>;
    fn deref(&self) -> &Cache<K> {
        &self.cache
    }
}

type HttpRequest = std::result::Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl<K: Kind> Objects<K> {
    pub(crate) fn new(client: Client, dynamic: K::DynamicType, cache: Cache<K>) -> Self {
        Self { client, dynamic, cache }
    }

    /// Returns the kind's dynamic type; `()` for typed kinds.
    pub fn dynamic_type(&self) -> &K::DynamicType {
        &self.dynamic
    }

    /// Returns the shared cache.
    pub fn cache(&self) -> &Cache<K> {
        &self.cache
    }

    /// Returns the Kubernetes client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the kind's name, for errors and events.
    pub fn kind(&self) -> String {
        K::kind(&self.dynamic).into_owned()
    }

    fn request(&self, namespace: Option<&str>) -> Request {
        Request::new(K::url_path(&self.dynamic, namespace))
    }

    fn what(&self, verb: &str, key: &NamespacedName) -> String {
        format!("{verb} {} {key}", K::kind(&self.dynamic))
    }

    /// Returns an object in JSON, for a request with the verb `verb`.
    pub(crate) fn json(&self, verb: &str, object: &K) -> Result<Value> {
        let failed = |error| Error::json(self.what(verb, &NamespacedName::of(object)), error);
        serde_json::to_value(object).map_err(failed)
    }

    async fn text(&self, what: &str, request: HttpRequest) -> Result<String> {
        let request = request.map_err(|error| Error::api(what, kube::Error::BuildRequest(error)))?;
        self.client.request_text(request).await.map_err(|error| Error::api(what, error))
    }

    async fn send(&self, what: String, request: HttpRequest) -> Result<K> {
        let text = self.text(&what, request).await?;
        K::from_json(without_managed_fields(&text).as_bytes()).map_err(|error| Error::json(what, error))
    }

    /// Reads the object from the API server instead of the cache, and stores it in the cache; `None` if it
    /// does not exist.
    pub async fn get_live(&self, key: &NamespacedName) -> Result<Option<Arc<K>>> {
        let request = self.request(key.scope()).get(&key.name, &GetParams::default());
        match self.send(self.what("get", key), request).await {
            Ok(object) => Ok(Some(self.cache.observe(object))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the whole object, `managedFields` included. The answer does not enter the cache.
    ///
    /// # Errors
    /// Returns the API server's refusal, or the client's failure to reach it.
    pub async fn get_whole(&self, key: &NamespacedName) -> Result<Value> {
        let what = self.what("get", key);
        let request = self.request(key.scope()).get(&key.name, &GetParams::default());
        let text = self.text(&what, request).await?;
        machinery::decode::own(text.as_bytes()).map_err(|error| Error::json(what, error))
    }

    /// Creates `object`.
    pub async fn create(&self, object: &K) -> Result<Arc<K>> {
        let key = NamespacedName::of(object);
        let what = self.what("create", &key);
        let body = serde_json::to_vec(object).map_err(|error| Error::json(what.clone(), error))?;
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
        let created = self.send(what, self.request(key.scope()).create(&parameters, body)).await?;
        // The server may have made the name.
        tracing::info!("created {} {}", self.kind(), NamespacedName::of(&created));
        Ok(self.cache.observe(created))
    }

    /// Creates `object`, or returns the existing object of the same name. The flag says whether it was
    /// created.
    pub async fn create_if_absent(&self, object: &K) -> Result<(Arc<K>, bool)> {
        let key = NamespacedName::of(object);
        if let Some(existing) = self.cache.get(&key) {
            return Ok((existing, false));
        }
        match self.create(object).await {
            Ok(created) => Ok((created, true)),
            Err(error) if error.is_already_exists() => match self.get_live(&key).await? {
                Some(existing) => Ok((existing, false)),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Replaces the whole of `object`; fails with a conflict if it changed since it was read.
    pub async fn update(&self, object: &K) -> Result<Arc<K>> {
        let key = NamespacedName::of(object);
        let what = self.what("update", &key);
        let body = serde_json::to_vec(object).map_err(|error| Error::json(what.clone(), error))?;
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
        let updated =
            self.send(what, self.request(key.scope()).replace(&key.name, &parameters, body)).await?;
        tracing::info!("changed {} {key}", self.kind());
        Ok(self.cache.observe(updated))
    }

    /// Applies the merge patch `patch` (RFC 7386) to the object or its subresource.
    pub async fn merge(
        &self,
        key: &NamespacedName,
        subresource: Option<&str>,
        patch: Value,
    ) -> Result<Arc<K>> {
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.into()),
            // Nobody reads the warnings of this request, and the server need not look for them.
            field_validation: Some(ValidationDirective::Ignore),
            ..PatchParams::default()
        };
        self.patch_with(key, subresource, &parameters, &Patch::Merge(patch)).await
    }

    /// Applies `object` (server-side, forced) as field manager `manager`. `status` is left out.
    pub async fn apply(&self, manager: &str, object: &K) -> Result<Arc<K>> {
        let key = NamespacedName::of(object);
        let mut value = self.json("apply", object)?;
        if let Value::Object(map) = &mut value {
            map.entry("apiVersion").or_insert_with(|| K::api_version(&self.dynamic).into());
            map.entry("kind").or_insert_with(|| K::kind(&self.dynamic).into());
            map.remove("status");
        }
        self.apply_value(manager, &key, value).await
    }

    /// Like [`Objects::apply`], for a configuration with only some of the kind's fields.
    pub async fn apply_value(
        &self,
        manager: &str,
        key: &NamespacedName,
        configuration: Value,
    ) -> Result<Arc<K>> {
        let parameters = PatchParams::apply(manager).force();
        self.patch_with(key, None, &parameters, &Patch::Apply(configuration)).await
    }

    /// Returns what [`Objects::apply_value`] would store, without storing it. The answer is whole, `managedFields` included, and never
    /// enters the cache.
    ///
    /// # Errors
    /// Returns the API server's refusal, or the client's failure to reach it.
    pub async fn apply_dry_run(
        &self,
        manager: &str,
        key: &NamespacedName,
        configuration: Value,
    ) -> Result<Value> {
        let parameters = PatchParams { dry_run: true, ..PatchParams::apply(manager).force() };
        let what = self.what("apply (dry run)", key);
        let request = self.request(key.scope()).patch(&key.name, &parameters, &Patch::Apply(configuration));
        let text = self.text(&what, request).await?;
        machinery::decode::own(text.as_bytes()).map_err(|error| Error::json(what, error))
    }

    async fn patch_with(
        &self,
        key: &NamespacedName,
        subresource: Option<&str>,
        parameters: &PatchParams,
        patch: &Patch<Value>,
    ) -> Result<Arc<K>> {
        let request = self.request(key.scope());
        let request = match subresource {
            Some(subresource) => request.patch_subresource(subresource, &key.name, parameters, patch),
            None => request.patch(&key.name, parameters, patch),
        };
        let is_new = matches!(patch, Patch::Apply(_)) && self.cache.get(key).is_none();
        let patched = self.send(self.what("patch", key), request).await?;
        if subresource.is_none() {
            let did = if is_new { "created" } else { "changed" };
            tracing::info!("{did} {} {key}", self.kind());
        }
        // The patch removed the last finalizer of a deleting object: the response is its last state.
        if object::is_deleting(&patched) && patched.meta().finalizers.as_ref().is_none_or(Vec::is_empty) {
            self.cache.forget(key, object::uid(&patched));
            return Ok(Arc::new(patched));
        }
        Ok(self.cache.observe(patched))
    }

    /// Deletes `object` in the background, with its UID as precondition. An object that is already deleted is
    /// not an error.
    pub async fn delete(&self, object: &K) -> Result<()> {
        let key = NamespacedName::of(object);
        let uid = object::uid(object).to_owned();
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: (!uid.is_empty())
                .then(|| Preconditions { uid: Some(uid.clone()), ..Preconditions::default() }),
            ..DeleteParams::default()
        };
        let what = self.what("delete", &key);
        let request = self.request(key.scope()).delete(&key.name, &parameters);
        let request = request.map_err(|error| Error::api(what.clone(), kube::Error::BuildRequest(error)))?;
        match self.client.request_text(request).await {
            Ok(text) => {
                tracing::info!("deleted {} {key}", self.kind());
                let failed = |error| Error::json(what.clone(), error);
                let answer: TypeMeta = machinery::decode::own(text.as_bytes()).map_err(&failed)?;
                if answer.kind == "Status" {
                    self.cache.forget(&key, &uid);
                } else {
                    let deleting = K::from_json(without_managed_fields(&text).as_bytes()).map_err(failed)?;
                    self.deleting(&key, &uid, deleting);
                }
            }
            Err(error) => {
                let error = Error::api(what, error);
                if !error.is_not_found() {
                    return Err(error);
                }
                self.cache.forget(&key, &uid);
            }
        }
        Ok(())
    }

    /// Handles a delete response that contains the object: it is either deleted, or waits for finalizers or
    /// its grace period.
    fn deleting(&self, key: &NamespacedName, uid: &str, object: K) {
        let waits = object.meta().finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
            || object.meta().deletion_grace_period_seconds.is_some_and(|seconds| seconds > 0);
        if waits {
            self.cache.observe(object);
        } else {
            self.cache.forget(key, uid);
        }
    }
}
