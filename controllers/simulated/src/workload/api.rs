//! Access of the simulated infrastructure to a workload cluster's API, in place of the kubelet and kubeadm.

use machinery::status::Status;
use registry::{Context, DeleteOptions, Input, ListOptions, PatchBody, Registry, Served, Subresource};
use serde_json::{Value, json};

use crate::names::KUBE_SYSTEM;

/// The location of an object in a workload cluster.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Plural name of the kind.
    pub plural: &'a str,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
}

impl<'a> Place<'a> {
    /// The location of kubeadm's configuration, which `kubeadm join` reads.
    pub const KUBEADM_CONFIG: Place<'static> =
        Place { group: "", plural: "configmaps", namespace: KUBE_SYSTEM, name: "kubeadm-config" };

    /// Returns the location of a Node.
    pub fn node(name: &'a str) -> Self {
        Self { group: "", plural: "nodes", namespace: "", name }
    }

    /// Returns the location of a Pod.
    pub fn pod(namespace: &'a str, name: &'a str) -> Self {
        Self { group: "", plural: "pods", namespace, name }
    }
}

/// The API of one workload cluster, accessed without HTTP.
#[derive(Clone)]
pub struct Api {
    registry: Registry,
}

const MANAGER: &str = "simulated-host";

impl Api {
    /// Creates an API over `registry`.
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }

    fn served(&self, group: &str, plural: &str) -> Result<Served, Status> {
        self.registry.served(group, "v1", plural).ok_or_else(Status::no_such_path)
    }

    /// Creates `object` with its status, unless an object of that name exists.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn ensure(&self, object: Value) -> Result<(), Status> {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let definitions = self.registry.definitions();
        let definition = definitions.by_kind(group, &kind).ok_or_else(Status::no_such_path)?;
        let served = self.served(group, &definition.plural)?;
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let mut context = Context::internal(MANAGER);
        let status = object.get("status").cloned();
        match self.registry.create(&mut context, &served, &namespace, Input::new(object)).await {
            Ok(_) => {}
            Err(error) if error.reason == "AlreadyExists" => return Ok(()),
            Err(error) => return Err(error),
        }
        if let (Some(status), true) = (status, served.version.status) {
            let patch = PatchBody::Merge(json!({"status": status}).to_string().into());
            self.registry.patch(&mut context, &served, &namespace, &name, Subresource::Status, patch).await?;
        }
        Ok(())
    }

    /// Returns the object, or `None` if it does not exist.
    pub async fn get(&self, place: Place<'_>) -> Option<Value> {
        let served = self.served(place.group, place.plural).ok()?;
        let got = self.registry.get(&served, place.namespace, place.name, Subresource::None, "").await;
        let bytes = got.ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Returns the objects that match a label selector such as `component=etcd`, by name.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn list(&self, place: Place<'_>, label_selector: &str) -> Result<Vec<Value>, Status> {
        let served = self.served(place.group, place.plural)?;
        let options = ListOptions { label_selector: label_selector.to_owned(), ..ListOptions::default() };
        let list =
            self.registry.list(&mut Context::internal(MANAGER), &served, place.namespace, &options).await?;
        let parse = |item: &registry::Item| serde_json::from_slice(&item.object).ok();
        Ok(list.items.iter().filter_map(parse).collect())
    }

    /// Applies a merge patch to the object.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn merge(&self, place: Place<'_>, patch: Value) -> Result<(), Status> {
        self.patch(place, Subresource::None, patch).await
    }

    /// Applies a merge patch to the object's status.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn merge_status(&self, place: Place<'_>, patch: Value) -> Result<(), Status> {
        self.patch(place, Subresource::Status, patch).await
    }

    async fn patch(&self, place: Place<'_>, subresource: Subresource, patch: Value) -> Result<(), Status> {
        let served = self.served(place.group, place.plural)?;
        let patch = PatchBody::Merge(patch.to_string().into());
        let mut context = Context::internal(MANAGER);
        let outcome =
            self.registry.patch(&mut context, &served, place.namespace, place.name, subresource, patch).await;
        outcome.map(drop)
    }

    /// Deletes the object without a grace period; an object that is already gone is not an error.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn delete(&self, place: Place<'_>) -> Result<(), Status> {
        let served = self.served(place.group, place.plural)?;
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        let mut context = Context::internal(MANAGER);
        match self.registry.delete(&mut context, &served, place.namespace, place.name, &options).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }
}
