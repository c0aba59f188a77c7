//! Whether the upstream provider is installed. Then it serves the pools, and the controllers of this process do nothing.

use std::sync::Arc;

use engine::{Change, Manager, NamespacedName, Objects, object};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;

use crate::names::{PROVIDER, UPSTREAM};

/// Index of Deployments by the provider that they belong to.
const BY_PROVIDER: &str = "provider";

/// The Deployments of the management cluster. Whichever way a provider was installed, its Deployment and its Namespace have the label of a provider. Only administrators can
/// label a Namespace, so nobody else can stop these controllers.
#[derive(Clone)]
pub struct Upstream {
    deployments: Objects<PartialObjectMeta<Deployment>>,
    namespaces: Objects<PartialObjectMeta<Namespace>>,
}

impl Upstream {
    /// Watches the Deployments and their Namespaces.
    pub fn new(manager: &Manager) -> Self {
        let deployments: Objects<PartialObjectMeta<Deployment>> = manager.objects();
        deployments.index(BY_PROVIDER, |deployment| {
            object::label(deployment, PROVIDER).map(str::to_owned).into_iter().collect()
        });
        Self { deployments, namespaces: manager.objects() }
    }

    /// Returns the Deployments, to be watched.
    pub fn deployments(&self) -> &Objects<PartialObjectMeta<Deployment>> {
        &self.deployments
    }

    /// Returns the Namespaces, to be watched.
    pub fn namespaces(&self) -> &Objects<PartialObjectMeta<Namespace>> {
        &self.namespaces
    }

    /// Returns whether a Deployment has the label of the upstream provider.
    pub fn is_provider(deployment: &PartialObjectMeta<Deployment>) -> bool {
        object::label(deployment, PROVIDER) == Some(UPSTREAM)
    }

    /// Returns whether a Namespace has become one for providers, or is none any more.
    pub fn is_other(change: &Change<PartialObjectMeta<Namespace>>) -> bool {
        let is_for_providers = |namespace: &Arc<PartialObjectMeta<Namespace>>| {
            object::label(namespace.as_ref(), PROVIDER).is_some()
        };
        let [old, new] =
            [&change.old, &change.new].map(|namespace| namespace.as_ref().is_some_and(is_for_providers));
        old != new
    }

    /// Returns whether the upstream provider is installed.
    pub fn is_installed(&self) -> bool {
        self.deployments.by_index(BY_PROVIDER, UPSTREAM).iter().any(|deployment| {
            let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
            let namespace = self.namespaces.get(&NamespacedName::new("", namespace));
            namespace.is_some_and(|namespace| object::label(namespace.as_ref(), PROVIDER).is_some())
        })
    }
}
