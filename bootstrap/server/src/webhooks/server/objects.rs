//! Reads the objects on which rules depend from the cluster whose API server asks.

use std::future::Future;
use std::sync::Arc;

use engine::contract::Contracts;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use machinery::names::{dns1123_label, dns1123_subdomain};
use serde_json::Value;
use tokio::runtime::Handle;

use super::super::reviews::Definitions;
use crate::admission::Objects;
use crate::limits::REVIEW;

/// Objects in one answer of a list.
const PAGE: u32 = 500;

/// The objects of the cluster. They can be read only in threads that may block, in which reviews are answered.
pub struct ClusterObjects {
    pub client: Client,
    pub contracts: Contracts,
    pub definitions: Arc<Definitions>,
    pub runtime: Handle,
}

impl ClusterObjects {
    fn wait<T>(&self, what: &str, read: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let limited = async {
            let late = |_| format!("{what}: no answer of the API server after {REVIEW:?}");
            tokio::time::timeout(REVIEW, read).await.map_err(late)?
        };
        self.runtime.block_on(limited)
    }

    async fn resource(&self, group: &str, kind: &str) -> Result<ApiResource, String> {
        if let Some(definition) = self.definitions.of_kind(group, kind) {
            let kind = GroupVersionKind::gvk(group, &definition.storage_version, kind);
            return Ok(ApiResource::from_gvk_with_plural(&kind, &definition.plural));
        }
        // The kind of another provider, such as a control plane.
        let resolved = self.contracts.resolve(group, kind).await;
        resolved.map(|resolved| resolved.resource).map_err(|error| error.to_string())
    }

    async fn read(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, String> {
        let resource = self.resource(group, kind).await?;
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let found = api.get_opt(name).await;
        let found = found.map_err(|error| format!("{kind} {namespace}/{name} cannot be read: {error}"))?;
        found.map(value).transpose()
    }

    async fn read_all(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        let resource = self.resource(group, kind).await?;
        let api: Api<DynamicObject> = match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let mut found = Vec::new();
        let mut parameters = ListParams::default().limit(PAGE);
        loop {
            let page = api.list(&parameters).await;
            let page = page.map_err(|error| format!("the objects of {kind} cannot be listed: {error}"))?;
            found.extend(page.items.into_iter().map(value).collect::<Result<Vec<_>, _>>()?);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(found),
            }
        }
    }
}

impl Objects for ClusterObjects {
    fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        // Both become parts of a path, and come from an object that was not checked yet.
        if !dns1123_label(namespace).is_empty() || !dns1123_subdomain(name).is_empty() {
            return Ok(None);
        }
        self.wait(kind, self.read(group, kind, namespace, name))
    }

    fn list(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        if !namespace.is_empty() && !dns1123_label(namespace).is_empty() {
            return Ok(Vec::new());
        }
        self.wait(kind, self.read_all(group, kind, namespace))
    }
}

fn value(object: DynamicObject) -> Result<Value, String> {
    serde_json::to_value(object).map_err(|error| error.to_string())
}
