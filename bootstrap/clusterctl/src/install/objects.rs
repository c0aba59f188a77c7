//! Creates and updates objects of any kind.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::core::discovery::Scope;
use kube::{Api, Client, discovery};
use machinery::clock::Clock;
use serde_json::Value;
use tokio::sync::Mutex;

use super::tools::Tools;
use crate::{Context, Error, Result};

/// The field manager of clusterctl.
const FIELD_MANAGER: &str = "clusterctl";

/// How often an object is tried, and the pauses between: together half a minute.
const TRIES: u32 = 9;
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_GROWTH: f32 = 1.5;

type Known = BTreeMap<(String, String), (ApiResource, Scope)>;

/// Writes objects of any kind, and remembers the resources of their kinds.
#[derive(Clone)]
pub struct Objects {
    client: Client,
    clock: Clock,
    known: Arc<Mutex<Known>>,
}

impl Objects {
    /// Creates a writer for the cluster of `tools`.
    pub fn new(tools: &Tools<'_>) -> Self {
        Self { client: tools.client.clone(), clock: tools.clock.clone(), known: Arc::default() }
    }

    /// Creates an object, or changes the existing one by a merge patch, as clusterctl does. What may pass is tried again: a kind that is not
    /// served yet, and a webhook that does not answer yet.
    ///
    /// # Errors
    /// The kind is not served, or the cluster refuses the object.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            match self.apply_once(object).await {
                Err(error) if error.may_pass() => self.clock.sleep(pause).await,
                outcome => return outcome,
            }
            pause = pause.mul_f32(PAUSE_GROWTH);
        }
        self.apply_once(object).await
    }

    async fn apply_once(&self, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let failed = || format!("failed to create provider object {} {name}", kind_of(object));
        let api = self.api(object).await.context(failed)?;
        let parsed: DynamicObject = serde_json::from_value(object.clone())
            .map_err(|error| Error::invalid(error.to_string()))
            .context(failed)?;
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match api.create(&parameters, &parsed).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            created => return created.map(drop).context(failed),
        }
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patched = api.patch(name, &parameters, &Patch::Merge(object)).await;
        patched.map(drop).context(|| format!("failed to patch provider object {} {name}", kind_of(object)))
    }

    /// Returns whether a kind is served.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn is_served(&self, api_version: &str, kind: &str) -> Result<bool> {
        match self.resource(api_version, kind).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a CustomResourceDefinition exists.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub(super) async fn has_definition(&self, name: &str) -> Result<bool> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        Ok(definitions.get_opt(name).await?.is_some())
    }

    async fn api(&self, object: &Value) -> Result<Api<DynamicObject>> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (resource, scope) = self.resource(text("apiVersion"), text("kind")).await?;
        Ok(match (scope, object["metadata"]["namespace"].as_str()) {
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        })
    }

    async fn resource(&self, api_version: &str, kind: &str) -> Result<(ApiResource, Scope)> {
        let key = (api_version.to_owned(), kind.to_owned());
        let mut known = self.known.lock().await;
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = discovery::pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind)).await;
        let (resource, capabilities) = found.map_err(|error| match error {
            kube::Error::Discovery(_) => Error::NotFound,
            other => other.into(),
        })?;
        known.insert(key, (resource.clone(), capabilities.scope.clone()));
        Ok((resource, capabilities.scope))
    }
}

fn kind_of(object: &Value) -> String {
    format!(
        "{}, Kind={}",
        object["apiVersion"].as_str().unwrap_or_default(),
        object["kind"].as_str().unwrap_or_default()
    )
}
