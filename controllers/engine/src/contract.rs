//! Finds the version of a provider's kind that implements the Cluster API contract, from the labels of its
//! CustomResourceDefinition.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, PartialObjectMeta};
use schemas::contract::{implemented, implemented_by};

use crate::error::{Error, Result};
use crate::manager::Manager;
use crate::object::{self, NamespacedName};
use crate::objects::Objects;

/// The metadata of a CustomResourceDefinition.
pub type Definition = PartialObjectMeta<CustomResourceDefinition>;

/// A provider's kind, in the version that implements the contract.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Group, version, kind and plural of the resource.
    pub resource: ApiResource,
    /// The contract, `v1beta2` or `v1beta1`.
    pub contract: &'static str,
}

/// Resolves contract versions from the cached CustomResourceDefinitions.
#[derive(Clone)]
pub struct Contracts {
    definitions: Objects<Definition>,
}

impl Contracts {
    pub(crate) fn start(manager: &Manager) -> Self {
        Self { definitions: manager.objects() }
    }

    /// Returns the handle on the metadata of CustomResourceDefinitions, to wait for or to watch.
    pub fn definitions(&self) -> &Objects<Definition> {
        &self.definitions
    }

    /// Returns the version of `kind` in `group` that implements the newest contract.
    ///
    /// # Errors
    /// Fails if the CustomResourceDefinition does not exist, or no version of it implements a supported
    /// contract.
    pub async fn resolve(&self, group: &str, kind: &str) -> Result<Resolved> {
        let definition = self.definition(group, kind).await?;
        by_contract(&definition, group, kind).ok_or_else(|| {
            let name = definition.metadata.name.as_deref().unwrap_or_default();
            Error::failed(format!(
                "CustomResourceDefinition {name} has none of the labels cluster.x-k8s.io/v1beta2, cluster.x-k8s.io/v1beta1: \
                 no version of it speaks a contract that Cluster API knows"
            ))
        })
    }

    /// Returns the contract that `kind` implements in this version, which need not be its newest one: where fields are follows from
    /// the version in which an object is read.
    ///
    /// # Errors
    /// Fails if the CustomResourceDefinition does not exist, or no label of it names the version.
    pub async fn contract_of(&self, api_version: &str, kind: &str) -> Result<&'static str> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let definition = self.definition(group, kind).await?;
        let contract = implemented_by(version, |name| object::label(definition.as_ref(), name));
        contract.ok_or_else(|| {
            let name = definition.metadata.name.as_deref().unwrap_or_default();
            Error::failed(format!(
                "no label of CustomResourceDefinition {name} says which contract of Cluster API version {version} implements"
            ))
        })
    }

    /// Returns the version of `kind` in `group` that implements the newest contract, as far as the cache knows; `None` if there is none.
    pub fn known_version(&self, group: &str, kind: &str) -> Option<String> {
        let definition = self.definitions.get(&definition_name(group, kind))?;
        Some(by_contract(&definition, group, kind)?.resource.version)
    }

    async fn definition(&self, group: &str, kind: &str) -> Result<Arc<Definition>> {
        self.definitions.wait_until_synced().await;
        let name = definition_name(group, kind);
        self.definitions.get(&name).ok_or_else(|| {
            Error::failed(format!(
                "CustomResourceDefinition {} (for kind {kind}) does not exist: install its provider",
                name.name
            ))
        })
    }
}

/// Returns the name of a kind's CustomResourceDefinition, as the contract requires it.
fn definition_name(group: &str, kind: &str) -> NamespacedName {
    NamespacedName::new("", format!("{}.{group}", plural(kind)))
}

fn by_contract(definition: &Definition, group: &str, kind: &str) -> Option<Resolved> {
    let (contract, version) = implemented(|name| object::label(definition, name))?;
    Some(Resolved { resource: resource(group, version, kind), contract })
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    resource_of(&format!("{group}/{version}"), kind)
}

/// Returns the resource of a provider's kind in this version, with the plural that the contract requires.
pub fn resource_of(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural(kind),
    }
}

/// Returns the plural of a kind by English rules, as the contract requires for a CustomResourceDefinition's
/// name.
pub fn plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    let before_y = lower.chars().rev().nth(1).is_some_and(|before| !"aeiou".contains(before));
    if ["s", "x", "z", "ch", "sh"].iter().any(|end| lower.ends_with(end)) {
        format!("{lower}es")
    } else if lower.ends_with('y') && before_y {
        format!("{}ies", &lower[..lower.len() - 1])
    } else {
        format!("{lower}s")
    }
}
