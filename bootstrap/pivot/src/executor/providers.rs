//! Maintains the inventory of providers at the target.

use serde_json::Value;

use super::namespaces;
use crate::error::Result;
use crate::inventory::{self, Provider};
use crate::names;
use crate::server::Server;

/// Creates the entries of `providers`, which the target needs, unless it has them; preflight has found their kinds there. Nothing is
/// created if the target has no inventory. `there` is the inventory of the target; it is read if it is `None`.
pub(super) async fn enter(
    source: &Server,
    target: &Server,
    providers: &[Provider],
    there: Option<Vec<Provider>>,
) -> Result<()> {
    let there = match there {
        Some(there) => there,
        None => inventory::providers(target).await?,
    };
    for provider in providers.iter().filter(|provider| !there.iter().any(|one| one.is(provider))) {
        enter_one(source, target, provider).await?;
    }
    Ok(())
}

async fn enter_one(source: &Server, target: &Server, provider: &Provider) -> Result<()> {
    let Provider { namespace, name, .. } = provider;
    let path = format!("/apis/{}/v1alpha3/namespaces/{namespace}/providers", names::INVENTORY_GROUP);
    let mut entry: Value = source.get(&format!("get Provider {name}"), &format!("{path}/{name}")).await?;
    if let Some(metadata) = entry["metadata"].as_object_mut() {
        metadata.retain(|field, _| ["name", "namespace", "labels", "annotations"].contains(&field.as_str()));
    }
    namespaces::ensure(source, target, namespace).await?;
    match target.create(&format!("create Provider {name}"), &path, &entry).await {
        Err(error) if !error.is_already_exists() && !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
