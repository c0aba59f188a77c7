//! Maintains the inventory of providers at the target.

use serde_json::Value;

use super::{Pivot, Work, namespaces};
use crate::error::Result;
use crate::inventory::{self, Provider};
use crate::names;

impl Pivot {
    /// Creates the entries of source providers that the target lacks; preflight has found their kinds there. Nothing happens if the
    /// target has no inventory.
    pub(super) async fn enter_providers(&self, work: &mut Work) -> Result<()> {
        let there = match work.providers.take() {
            Some(there) => there,
            None => inventory::providers(&self.target).await?,
        };
        let missing =
            work.discovery.providers.iter().filter(|provider| !there.iter().any(|one| one.is(provider)));
        for provider in missing {
            self.enter(provider).await?;
        }
        Ok(())
    }

    async fn enter(&self, provider: &Provider) -> Result<()> {
        let Provider { namespace, name, .. } = provider;
        let path = format!("/apis/{}/v1alpha3/namespaces/{namespace}/providers", names::INVENTORY_GROUP);
        let mut entry: Value =
            self.source.get(&format!("get Provider {name}"), &format!("{path}/{name}")).await?;
        if let Some(metadata) = entry["metadata"].as_object_mut() {
            metadata
                .retain(|field, _| ["name", "namespace", "labels", "annotations"].contains(&field.as_str()));
        }
        namespaces::ensure(&self.source, &self.target, namespace).await?;
        match self.target.create(&format!("create Provider {name}"), &path, &entry).await {
            Err(error) if !error.is_already_exists() && !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}
