//! Reads the objects on which the plan of a ClusterResourceSet depends.

use std::sync::Arc;

use engine::{Kind, Manager, NamespacedName, Objects, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding, ResourceReference};
use schemas::cluster::Cluster;

use super::observed::Observed;
use super::source::Source;

/// The controller of ClusterResourceSets.
pub(super) struct ResourceSetController {
    pub manager: Manager,
    pub sets: Objects<ClusterResourceSet>,
    pub bindings: Objects<ClusterResourceSetBinding>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub config_maps: Objects<ConfigMap>,
}

impl ResourceSetController {
    /// Reads the state on which the plan depends.
    ///
    /// # Errors
    /// The server does not say whether a resource exists.
    pub(super) async fn read(&self, set: Arc<ClusterResourceSet>) -> Result<Observed> {
        let namespace = set.metadata.namespace.clone().unwrap_or_default();
        let mut sources = Vec::new();
        for reference in &set.spec.resources {
            sources.push(self.source(&namespace, reference).await?);
        }
        let clusters = self.clusters.in_namespace(&namespace);
        Ok(Observed { sources, clusters, bindings: self.bindings.in_namespace(&namespace), set })
    }

    async fn source(&self, namespace: &str, reference: &ResourceReference) -> Result<Source> {
        let name = NamespacedName::new(namespace, reference.name.as_str());
        let found = match reference.kind.as_str() {
            "Secret" => find(&self.secrets, &name).await?.map(Source::of_secret),
            _ => find(&self.config_maps, &name).await?.map(Source::ConfigMap),
        };
        Ok(found.unwrap_or(Source::Missing))
    }
}

/// Returns an object. The event of a new one may come after that of the set that names it, and a set without it would count as applied.
async fn find<K: Kind<DynamicType = ()>>(
    objects: &Objects<K>,
    name: &NamespacedName,
) -> Result<Option<Arc<K>>> {
    match objects.get(name) {
        Some(found) => Ok(Some(found)),
        None => objects.get_live(name).await,
    }
}
