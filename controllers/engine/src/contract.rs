//! Finds the version of a provider's kind that implements the Cluster API contract, from the labels of its
//! CustomResourceDefinition.

use std::cmp::Ordering;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, PartialObjectMeta};

use crate::error::{Error, Result};
use crate::manager::Manager;
use crate::object::{self, NamespacedName};
use crate::objects::Objects;

/// The contracts that the core controllers support, newest first.
const CONTRACTS: &[&str] = &["v1beta2", "v1beta1"];

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

    /// Like [`Contracts::resolve`], for a reference that names a version: it is used if the kind implements no contract. Then
    /// `contract` is empty.
    ///
    /// # Errors
    /// Fails if the CustomResourceDefinition does not exist.
    pub async fn resolve_in(&self, api_version: &str, kind: &str) -> Result<Resolved> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let definition = self.definition(group, kind).await?;
        let named = || Resolved { resource: resource(group, version, kind), contract: "" };
        Ok(by_contract(&definition, group, kind).unwrap_or_else(named))
    }

    async fn definition(&self, group: &str, kind: &str) -> Result<Arc<Definition>> {
        self.definitions.wait_until_synced().await;
        let name = format!("{}.{group}", plural(kind));
        let definition = self.definitions.get(&NamespacedName::new("", name.as_str()));
        definition.ok_or_else(|| {
            Error::failed(format!(
                "CustomResourceDefinition {name} (for kind {kind}) does not exist: install its provider"
            ))
        })
    }
}

fn by_contract(definition: &Definition, group: &str, kind: &str) -> Option<Resolved> {
    CONTRACTS.iter().copied().find_map(|contract| {
        let version = newest(object::label(definition, &format!("cluster.x-k8s.io/{contract}"))?)?;
        Some(Resolved { resource: resource(group, version, kind), contract })
    })
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural(kind),
    }
}

/// Returns the newest of several versions separated by underscores.
pub fn newest(versions: &str) -> Option<&str> {
    versions.split('_').filter(|version| !version.is_empty()).max_by(|a, b| compare(a, b))
}

/// Compares versions as Kubernetes does: `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1` > any other name,
/// in reverse order.
fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

fn parse(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (level, word) in [(1, "beta"), (0, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((level, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_and_the_plural() {
        assert_eq!(newest("v1alpha4_v1beta1"), Some("v1beta1"));
        assert_eq!(newest("v1beta10_v1beta9"), Some("v1beta10"));
        assert_eq!(newest("v1_v2beta1"), Some("v1"));
        assert_eq!(newest(""), None);
        assert_eq!(plural("DevCluster"), "devclusters");
        assert_eq!(plural("FooProxy"), "fooproxies");
        assert_eq!(plural("HostClass"), "hostclasses");
    }
}
