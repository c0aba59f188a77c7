//! The objects of an installed provider: found by their labels, and deleted.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::core::discovery::{Scope, verbs};
use kube::discovery::Discovery;
use kube::{Api, Client, ResourceExt};

use crate::components::is_cluster_scoped;
use crate::inventory::Installed;
use crate::{Context, Error, Result};

/// The label by which clusterctl finds providers' objects.
const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// Kinds that are listed at the same time.
const AT_ONCE: usize = 16;

/// What is deleted besides the provider's other objects.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Removal {
    /// Its CustomResourceDefinitions, with all objects of their kinds.
    pub definitions: bool,
    /// Its Namespace, with everything in it.
    pub namespace: bool,
    /// Its entry in the inventory.
    pub inventory: bool,
}

/// An object of a provider.
#[derive(Debug, Clone)]
pub(crate) struct Component {
    /// The resource of its kind.
    pub resource: ApiResource,
    /// The object.
    pub object: DynamicObject,
}

impl Component {
    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// Whether a removal contains this object of `provider`.
    fn is_removed(&self, provider: &Installed, removal: Removal) -> bool {
        let (kind, name) = (self.resource.kind.as_str(), self.object.name_any());
        match kind {
            "CustomResourceDefinition" => removal.definitions,
            "Namespace" => removal.namespace && name == provider.namespace,
            "Provider" if self.resource.group == "clusterctl.cluster.x-k8s.io" => removal.inventory,
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => true,
            // Objects of the whole cluster that do not begin so may belong to somebody else, too.
            _ => !is_cluster_scoped(kind) || name.starts_with(&format!("{}-", provider.namespace)),
        }
    }
}

/// Returns all objects of a provider: those of its namespace, and those of no namespace. The objects of its own kinds are not among them.
///
/// # Errors
/// The cluster refuses or does not answer.
pub(crate) async fn components(client: &Client, provider: &Installed) -> Result<Vec<Component>> {
    let failed = || "failed to list api resources".to_owned();
    let foreign = kinds_of_providers(client).await.context(|| "failed to list CRDs".to_owned())?;
    let discovery = Discovery::new(client.clone()).run().await.context(failed)?;
    let resources = discovery.groups().flat_map(|group| group.recommended_resources());
    let wanted = resources.filter(|(resource, capabilities)| {
        let is_foreign = foreign.contains(&(resource.group.clone(), resource.kind.clone()));
        let can = |verb| capabilities.supports_operation(verb);
        can(verbs::LIST) && can(verbs::DELETE) && !is_foreign
    });
    let lists: Vec<(ApiResource, Api<DynamicObject>)> = wanted
        .map(|(resource, capabilities)| {
            let api = match capabilities.scope {
                Scope::Namespaced => Api::namespaced_with(client.clone(), &provider.namespace, &resource),
                Scope::Cluster => Api::all_with(client.clone(), &resource),
            };
            (resource, api)
        })
        .collect();
    let selected = &provider.selected();
    let lists = stream::iter(lists).map(|(resource, api)| async move {
        let listed = api.list(selected).await;
        let listed = listed.context(|| format!("failed to list objects of the kind {}", resource.kind))?;
        let components =
            listed.items.into_iter().map(move |object| Component { resource: resource.clone(), object });
        Ok::<_, Error>(components.collect::<Vec<_>>())
    });
    let found: Vec<Vec<Component>> = lists.buffered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// The kinds that providers define. Their objects are nobody's components, and listing them may need a webhook that is gone.
async fn kinds_of_providers(client: &Client) -> Result<BTreeSet<(String, String)>> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let all = definitions.list(&ListParams::default().labels(PROVIDER)).await?;
    Ok(all.items.into_iter().map(|one| (one.spec.group, one.spec.names.kind)).collect())
}

/// Deletes the objects of a provider.
///
/// # Errors
/// The cluster refuses a deletion; all others are done nevertheless, and the message has all errors.
pub(crate) async fn delete(client: &Client, provider: &Installed, removal: Removal) -> Result<()> {
    let all = components(client, provider).await?;
    let removed: Vec<&Component> = all.iter().filter(|one| one.is_removed(provider, removal)).collect();
    let mut errors = Vec::new();
    for component in removed {
        // The deletion of the namespace deletes it.
        if removal.namespace && component.object.metadata.namespace.as_ref() == Some(&provider.namespace) {
            continue;
        }
        let name = component.object.name_any();
        match component.api(client).delete(&name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => errors.push(format!(
                "Error deleting object {}, Kind={}, {}/{name}: {}",
                component.resource.api_version,
                component.resource.kind,
                component.object.namespace().unwrap_or_default(),
                crate::cluster_message(&error)
            )),
            Ok(_) => {}
        }
    }
    joined(errors)
}

/// Returns the kinds of a provider that have objects.
///
/// # Errors
/// The cluster refuses or does not answer.
pub(crate) async fn kinds_with_objects(client: &Client, provider: &Installed) -> Result<Vec<String>> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut found = Vec::new();
    for definition in definitions.list(&provider.selected()).await?.items {
        let spec = definition.spec;
        let Some(version) = spec.versions.iter().find(|version| version.storage) else { continue };
        let resource = ApiResource {
            api_version: format!("{}/{}", spec.group, version.name),
            group: spec.group.clone(),
            version: version.name.clone(),
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
        };
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        if !api.list(&ListParams::default().limit(1)).await?.items.is_empty() {
            found.push(spec.names.kind);
        }
    }
    Ok(found)
}

/// One error of several, in the form of Kubernetes.
pub(crate) fn joined(errors: Vec<String>) -> Result<()> {
    match errors.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::invalid(one)),
        several => Err(Error::invalid(format!("[{}]", several.join(", ")))),
    }
}
