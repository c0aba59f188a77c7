//! What the rules depend on: the object and its like, the inventory, what the object refers to, and the Deployments of the provider.

use std::collections::BTreeMap;

use clusterctl::built_in::BuiltIn;
use clusterctl::configuration::{Configuration, ProviderType};
use clusterctl::inventory::{self, Installed};
use engine::{Error, Result, selector};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::{Metadata, NamespaceResourceScope};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::declared::Declared;
use crate::inputs;
use crate::names::PROVIDER;
use crate::referred::Referred;

/// The state that a plan depends on. It has the variables of the provider, so it is never shown.
pub struct Observed {
    /// The object.
    pub object: Declared,
    /// The other objects of its kind.
    pub others: Vec<Declared>,
    /// The provider as it is built in, if its controllers run in this process.
    pub in_process: Option<Installed>,
    /// The entries of clusterctl's inventory.
    pub inventory: Vec<Installed>,
    /// The variables.
    pub secret: Referred<Secret>,
    /// The ConfigMaps that the object selects.
    pub maps: Vec<ConfigMap>,
    /// The additional manifests.
    pub manifests: Referred<ConfigMap>,
    /// The Deployments of the provider, in the namespace of the object.
    pub deployments: Vec<Deployment>,
    /// Whether clusterctl or its configuration knows the provider.
    pub is_known: bool,
    /// The digest of everything from which the components are made.
    pub digest: String,
}

impl Observed {
    /// The entry of the provider in the inventory. If there are several, the one in the namespace of the object.
    pub fn entry(&self) -> Option<&Installed> {
        let label = self.object.provider.label();
        let own = || self.inventory.iter().filter(|entry| entry.label() == label);
        own().find(|entry| entry.namespace == self.object.namespace).or_else(|| own().next())
    }

    /// The variables by their names, as bytes.
    pub(crate) fn variables(&self) -> BTreeMap<&str, &[u8]> {
        let Referred::Found(secret) = &self.secret else { return BTreeMap::new() };
        secret.data.iter().flatten().map(|(name, value)| (name.as_str(), value.0.as_slice())).collect()
    }
}

/// Reads the state of an object.
///
/// # Errors
/// The API server refuses or does not answer.
pub(crate) async fn observe(
    object: Declared,
    others: Vec<Declared>,
    client: &Client,
    context: &Context,
    configuration: &Configuration,
) -> Result<Observed> {
    let failed = |error: clusterctl::Error| Error::failed(error.to_string());
    let mut inventory = inventory::providers(client).await.map_err(failed)?;
    let secret = referred(client, &object, object.spec.config_secret.as_ref()).await?;
    let manifests = referred(client, &object, object.spec.additional_manifests.as_ref()).await?;
    let maps = selected(client, &object).await?;
    let deployments = deployments(client, &object).await?;
    let is_known = configuration.knows(&object.provider.name, object.kind());
    let digest = inputs::digest(&object.spec, &secret, &maps, &manifests);
    let in_process = in_process(&object, &deployments, context, configuration);
    if in_process.is_none() && is_built_in(&object, context) {
        inventory = without_listed(client, inventory, &object.provider.label()).await?;
    }
    Ok(Observed {
        in_process,
        object,
        others,
        inventory,
        secret,
        maps,
        manifests,
        deployments,
        is_known,
        digest,
    })
}

/// Reads the Deployments of the provider, in the namespace of the object.
///
/// # Errors
/// The API server refuses or does not answer.
pub(crate) async fn deployments(client: &Client, object: &Declared) -> Result<Vec<Deployment>> {
    deployments_in(client, &object.namespace, &object.provider.label()).await
}

async fn deployments_in(client: &Client, namespace: &str, label: &str) -> Result<Vec<Deployment>> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let labels = ListParams::default().labels(&format!("{PROVIDER}={label}"));
    Ok(api.list(&labels).await.map_err(|error| Error::api("list Deployments", error))?.items)
}

/// Returns the inventory without the entries that only say that the provider is built in: nothing of it is installed.
async fn without_listed(client: &Client, known: Vec<Installed>, label: &str) -> Result<Vec<Installed>> {
    let mut installed = Vec::new();
    for entry in known {
        if entry.label() != label || !deployments_in(client, &entry.namespace, label).await?.is_empty() {
            installed.push(entry);
        }
    }
    Ok(installed)
}

/// Returns whether the controllers of the provider run in this process, and stand aside when another one is installed.
fn is_built_in(object: &Declared, context: &Context) -> bool {
    let is_it = |one: &&BuiltIn| one.is(&object.provider.name, object.kind());
    context.in_process.iter().find(is_it).is_some_and(|one| one.stands_aside)
}

/// Returns the provider whose controllers run in this process, unless another one is installed in its place, or is to be.
fn in_process(
    object: &Declared,
    deployments: &[Deployment],
    context: &Context,
    configuration: &Configuration,
) -> Option<Installed> {
    let built_in = context.in_process.iter().find(|one| one.is(&object.provider.name, object.kind()))?;
    let has_source = object.spec.fetch_config.is_some() || !deployments.is_empty();
    let is_replaced = built_in.is_replaced(configuration) || built_in.stands_aside && has_source;
    (!is_replaced).then(|| built_in.provider.clone())
}

async fn referred<T>(
    client: &Client,
    object: &Declared,
    reference: Option<&schemas::operator::ProviderReference>,
) -> Result<Referred<T>>
where
    T: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Metadata
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let Some(reference) = reference else { return Ok(Referred::Unasked) };
    let (namespace, name) = object.referred(reference);
    let api: Api<T> = Api::namespaced(client.clone(), &namespace);
    let what = format!("{} {namespace}/{name}", T::kind(&()));
    let found = api.get_opt(&name).await.map_err(|error| Error::api(format!("get {what}"), error))?;
    Ok(found.map_or(Referred::Missing(what), Referred::Found))
}

/// The ConfigMaps with the files of the provider, sorted by name.
async fn selected(client: &Client, object: &Declared) -> Result<Vec<ConfigMap>> {
    let source = object.spec.fetch_config.as_ref();
    let Some(selector) = source.and_then(|source| source.selector.as_ref()) else { return Ok(Vec::new()) };
    let text = selector::text(selector);
    // As everywhere here, an empty selector selects nothing.
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &object.namespace);
    let listed = api.list(&ListParams::default().labels(&text)).await;
    Ok(listed.map_err(|error| Error::api(format!("list ConfigMaps with {text}"), error))?.items)
}

/// Reads the objects of a kind. One that does not have the structure of its kind counts for nobody else.
pub(crate) fn all_declared<'a>(
    kind: ProviderType,
    objects: impl IntoIterator<Item = &'a DynamicObject>,
) -> Vec<Declared> {
    objects.into_iter().filter_map(|object| Declared::of(kind, object).ok()).collect()
}
