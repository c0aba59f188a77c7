//! The providers that a pivot asks for and looks at. One that is listed whether somebody uses it or not counts only where it is used.

use std::collections::BTreeSet;

use machinery::url::encode;

use crate::error::Result;
use crate::graph::Scope;
use crate::inventory::{Discovery, Inventory, Provider};
use crate::kinds::Definition;
use crate::names;
use crate::server::Server;

impl Discovery {
    /// Returns the providers that the target needs: all, but for one that is listed whether it is used or not and of whose kinds no object
    /// moves.
    pub fn needed(&self, inventory: &Inventory) -> Vec<Provider> {
        let moves = |provider: &Provider| {
            let kinds = inventory.items.values().map(|item| self.kinds[item.kind].resource());
            let resources: BTreeSet<String> = kinds.collect();
            let is_of = |definition: &&Definition| definition.provider() == provider.name;
            self.definitions.iter().filter(is_of).any(|definition| resources.contains(definition.name()))
        };
        let is_needed = |provider: &&Provider| provider.name != names::ALWAYS_LISTED || moves(provider);
        self.providers.iter().filter(is_needed).cloned().collect()
    }

    /// Returns the scope for a pivot of `namespace` from `source`, of which this is the discovery.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn scope(&self, source: &Server, namespace: &str) -> Result<Scope> {
        let mut provider_namespaces = BTreeSet::new();
        for provider in self.providers.iter().filter(|provider| provider.kind == "InfrastructureProvider") {
            if provider.name != names::ALWAYS_LISTED || is_installed(source, provider).await? {
                provider_namespaces.insert(provider.namespace.clone());
            }
        }
        Ok(Scope { namespace: namespace.into(), provider_namespaces })
    }
}

/// Returns whether a provider has a Deployment in its namespace. For a user who may not look there, nothing is installed.
async fn is_installed(source: &Server, provider: &Provider) -> Result<bool> {
    let Provider { namespace, name, .. } = provider;
    let selector = encode(format!("{}={name}", names::PROVIDER));
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments?labelSelector={selector}");
    match source.list_metadata(&format!("list Deployments of {name}"), &path).await {
        Err(error) if error.is_refusal() => Ok(false),
        listed => Ok(!listed?.is_empty()),
    }
}
