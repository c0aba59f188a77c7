//! Maintains the inventory of clusterctl: a `Provider` object for each provider of a management cluster. The controllers of this
//! process are providers, too. With their entries, `clusterctl init` adds further providers instead of installing these again, and
//! `clusterctl move` recognises that the target can take over the source's objects.

use anyhow::{Context as _, Result, anyhow};
use clusterctl::built_in::{self, BuiltIn};
use clusterctl::inventory::Installed;
use engine::InventoryEntry;
use futures::future::try_join_all;
use registry::{Context, Input, PatchBody, Subresource};
use serde_json::{Value, json};

use crate::controllers::Selection;
use crate::names::FIELD_MANAGER;
use crate::plane::Plane;

/// The release of Cluster API that the controllers implement.
pub const VERSION: &str = "v1.14.0";

/// Group, version and plural of a resource.
type Resource = (&'static str, &'static str, &'static str);

const NAMESPACES: Resource = ("", "v1", "namespaces");
const CONFIG_MAPS: Resource = ("", "v1", "configmaps");
/// The inventory.
pub const PROVIDERS: Resource = ("clusterctl.cluster.x-k8s.io", "v1alpha3", "providers");

/// Creates the entries of the selected providers, and names all that are built in, so that `init` fetches none of them. Existing entries
/// are not changed, because they contain the version of a provider that somebody installed.
///
/// # Errors
/// The API refuses a write.
pub async fn record(plane: &Plane, selection: &Selection) -> Result<()> {
    let namespaces = namespaces(selection);
    try_join_all(namespaces.map(|namespace| create(plane, NAMESPACES, namespace))).await?;
    try_join_all(entries(selection).map(|entry| create(plane, PROVIDERS, entry))).await?;
    name_built_in(plane, selection).await
}

/// Returns all providers whose controllers are selected.
pub fn built_in(selection: &Selection) -> Vec<BuiltIn> {
    let listed = listed(selection).into_iter();
    let listed = listed.map(|provider| BuiltIn { provider, stands_aside: false });
    listed.chain(selection.on_demand()).collect()
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
    let installed = |entry: InventoryEntry| Installed {
        name: entry.name.to_owned(),
        type_name: entry.kind.to_owned(),
        version: VERSION.to_owned(),
        namespace: entry.namespace.to_owned(),
    };
    selection.inventory().into_iter().map(installed).collect()
}

/// Writes the names of the providers that are built in, unless they are there: other controllers may be selected than before.
async fn name_built_in(plane: &Plane, selection: &Selection) -> Result<()> {
    let (group, version, plural) = CONFIG_MAPS;
    let served = plane.registry.served(group, version, plural).context("ConfigMaps are not served")?;
    let wanted = built_in::config_map(&built_in(selection));
    create(plane, CONFIG_MAPS, wanted.clone()).await?;
    let mut context = Context::start(FIELD_MANAGER);
    let (namespace, name) = (built_in::NAMESPACE, built_in::NAME);
    let operations = json!([{"op": "add", "path": "/data", "value": wanted["data"]}]);
    let patch = PatchBody::Json(operations.to_string().into());
    let patched =
        plane.registry.patch(&mut context, &served, namespace, name, Subresource::None, patch).await;
    patched.map(drop).map_err(|status| anyhow!("the providers that are built in cannot be named: {status}"))
}

async fn create(plane: &Plane, resource: Resource, object: Value) -> Result<()> {
    let (group, version, plural) = resource;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let served = plane.registry.served(group, version, plural);
    let served = served.with_context(|| format!("{plural} are not served"))?;
    let mut context = Context::start(FIELD_MANAGER);
    match plane.registry.create(&mut context, &served, &namespace, Input::new(object)).await {
        Err(status) if status.reason != "AlreadyExists" => {
            Err(anyhow!("clusterctl's inventory cannot be written: {status}"))
        }
        _ => Ok(()),
    }
}
