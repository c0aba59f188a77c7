//! Maintains the inventory of clusterctl: a `Provider` object for each provider of a management cluster. The controllers of this
//! process are providers, too. With their entries, `clusterctl init` adds further providers instead of installing these again, and
//! `clusterctl move` recognises that the target can take over the source's objects.

use anyhow::{Context as _, Result, anyhow};
use clusterctl::built_in::{self, BuiltIn};
use clusterctl::inventory::Installed;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use registry::{Context, DeleteOptions, Input, ListOptions, PatchBody, Served, Subresource};
use serde_json::{Value, json};

use crate::controllers::Selection;
pub use crate::controllers::table::VERSION;
use crate::names::FIELD_MANAGER;
use crate::plane::Plane;

/// Group, version and plural of a resource.
type Resource = (&'static str, &'static str, &'static str);

const NAMESPACES: Resource = ("", "v1", "namespaces");
const CONFIG_MAPS: Resource = ("", "v1", "configmaps");
const DEPLOYMENTS: Resource = ("apps", "v1", "deployments");
/// The inventory.
pub const PROVIDERS: Resource = ("clusterctl.cluster.x-k8s.io", "v1alpha3", "providers");

/// Creates the entries of the selected providers, and names all that are built in, so that `init` fetches none of them. Existing entries
/// are not changed, because they contain the version of a provider that somebody installed, in whichever namespace; except for the entry
/// of one that could have been installed and was not, which another release of this program may have made.
///
/// # Errors
/// The API refuses a write.
pub async fn record(plane: &Plane, selection: &Selection) -> Result<()> {
    let known = names(plane, PROVIDERS, &ListOptions::default()).await?;
    let is_known = |provider: &Installed| known.iter().any(|(_, name)| *name == provider.label());
    let mut new = listed(selection);
    new.retain(|provider| !is_known(provider));
    try_join_all(new.iter().map(|one| create(plane, NAMESPACES, one.namespace_object()))).await?;
    try_join_all(new.iter().map(|one| create(plane, PROVIDERS, one.entry()))).await?;
    correct_versions(plane, selection, &known).await?;
    forget_unselected(plane, selection, &known).await?;
    name_built_in(plane, selection).await
}

/// Returns the namespaces of the entries.
pub fn namespaces(selection: &Selection) -> impl Iterator<Item = Value> {
    listed(selection).into_iter().map(|provider| provider.namespace_object())
}

/// Returns an entry for each provider that is in the inventory from the start.
pub fn entries(selection: &Selection) -> impl Iterator<Item = Value> {
    listed(selection).into_iter().map(|provider| provider.entry())
}

fn listed(selection: &Selection) -> Vec<Installed> {
    let listed = selection.providers().into_iter().filter(|one| one.is_listed);
    listed.map(|one| one.provider).collect()
}

/// Gives the entries of selected providers which stand aside for others, and for which nothing stands in their place, the version that is
/// built in. With another one, a pivot would ask for a version at the target that nobody can install there.
async fn correct_versions(plane: &Plane, selection: &Selection, known: &[(String, String)]) -> Result<()> {
    let mut selected = selection.providers();
    selected.retain(|one| one.is_listed && one.stands_aside);
    for BuiltIn { provider, .. } in selected {
        let entry = (provider.namespace.clone(), provider.label());
        if known.contains(&entry) && !is_installed(plane, &provider).await? {
            let version = PatchBody::Merge(json!({"version": provider.version}).to_string().into());
            let place = (entry.0.as_str(), entry.1.as_str());
            patch(plane, PROVIDERS, place, version).await?;
        }
    }
    Ok(())
}

/// Deletes the entries of providers whose controllers were selected at the last start and are not now, and which stand aside for others:
/// without the entry, another one can be installed. The entry of one that somebody has installed stays.
async fn forget_unselected(plane: &Plane, selection: &Selection, known: &[(String, String)]) -> Result<()> {
    let selected = selection.providers();
    let is_selected = |one: &BuiltIn| selected.iter().any(|now| now.provider.label() == one.provider.label());
    let mut left = named_before(plane).await?;
    left.retain(|one| one.is_listed && one.stands_aside && !is_selected(one));
    for BuiltIn { provider, .. } in left {
        let entry = (provider.namespace.clone(), provider.label());
        if known.contains(&entry) && !is_installed(plane, &provider).await? {
            forget(plane, &entry).await?;
        }
    }
    Ok(())
}

/// Returns whether a provider has a Deployment in its namespace.
async fn is_installed(plane: &Plane, provider: &Installed) -> Result<bool> {
    let label_selector = format!("cluster.x-k8s.io/provider={}", provider.label());
    let options = ListOptions { label_selector, ..ListOptions::default() };
    let deployments = names(plane, DEPLOYMENTS, &options).await?;
    Ok(deployments.iter().any(|(namespace, _)| *namespace == provider.namespace))
}

async fn forget(plane: &Plane, (namespace, name): &(String, String)) -> Result<()> {
    let served = served(plane, PROVIDERS)?;
    let mut context = Context::start(FIELD_MANAGER);
    let options = DeleteOptions::default();
    match plane.registry.delete(&mut context, &served, namespace, name, &options).await {
        Err(status) if status.reason != "NotFound" => {
            Err(anyhow!("the entry {name} of clusterctl's inventory cannot be deleted: {status}"))
        }
        _ => Ok(()),
    }
}

/// Returns the providers that were named at the last start.
async fn named_before(plane: &Plane) -> Result<Vec<BuiltIn>> {
    let served = served(plane, CONFIG_MAPS)?;
    let (namespace, name) = (built_in::NAMESPACE, built_in::NAME);
    let found = plane.registry.get(&served, namespace, name, Subresource::None, "").await;
    let found = match found {
        Err(status) if status.reason == "NotFound" => return Ok(Vec::new()),
        found => {
            found.map_err(|status| anyhow!("the providers that are built in cannot be read: {status}"))?
        }
    };
    let map: ConfigMap = serde_json::from_slice(&found)?;
    Ok(built_in::named(&map.data.unwrap_or_default()))
}

/// Returns the namespaces and names of objects.
async fn names(plane: &Plane, resource: Resource, options: &ListOptions) -> Result<Vec<(String, String)>> {
    let served = served(plane, resource)?;
    let mut context = Context::start(FIELD_MANAGER);
    let listed = plane.registry.list(&mut context, &served, "", options).await;
    let listed = listed.map_err(|status| anyhow!("{} cannot be listed: {status}", resource.2))?;
    Ok(listed.items.into_iter().map(|item| (item.namespace, item.name)).collect())
}

fn served(plane: &Plane, (group, version, plural): Resource) -> Result<Served> {
    let served = plane.registry.served(group, version, plural);
    served.with_context(|| format!("{plural} are not served"))
}

/// Writes the names of the providers that are built in, unless they are there: other controllers may be selected than before.
async fn name_built_in(plane: &Plane, selection: &Selection) -> Result<()> {
    let wanted = built_in::config_map(&selection.providers());
    create(plane, CONFIG_MAPS, wanted.clone()).await?;
    let operations = json!([{"op": "add", "path": "/data", "value": wanted["data"]}]);
    let operations = PatchBody::Json(operations.to_string().into());
    patch(plane, CONFIG_MAPS, (built_in::NAMESPACE, built_in::NAME), operations).await
}

async fn patch(
    plane: &Plane,
    resource: Resource,
    (namespace, name): (&str, &str),
    body: PatchBody,
) -> Result<()> {
    let served = served(plane, resource)?;
    let mut context = Context::start(FIELD_MANAGER);
    let patched = plane.registry.patch(&mut context, &served, namespace, name, Subresource::None, body).await;
    patched.map(drop).map_err(|status| anyhow!("{} {name} cannot be written: {status}", resource.2))
}

async fn create(plane: &Plane, resource: Resource, object: Value) -> Result<()> {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let served = served(plane, resource)?;
    let mut context = Context::start(FIELD_MANAGER);
    match plane.registry.create(&mut context, &served, &namespace, Input::new(object)).await {
        Err(status) if status.reason != "AlreadyExists" => {
            Err(anyhow!("clusterctl's inventory cannot be written: {status}"))
        }
        _ => Ok(()),
    }
}
