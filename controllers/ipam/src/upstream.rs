//! Whether the upstream provider is installed. Then it serves the pools, and the controllers of this process do nothing.

use engine::{Manager, Objects, object};
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::PartialObjectMeta;

use crate::names::{PROVIDER, UPSTREAM};

/// Index of Deployments by the provider that they belong to.
const BY_PROVIDER: &str = "provider";

/// The Deployments of the management cluster. Whichever way a provider was installed, its Deployment has the label of the provider.
#[derive(Clone)]
pub struct Upstream(Objects<PartialObjectMeta<Deployment>>);

impl Upstream {
    /// Watches the Deployments.
    pub fn new(manager: &Manager) -> Self {
        let deployments: Objects<PartialObjectMeta<Deployment>> = manager.objects();
        deployments.index(BY_PROVIDER, |deployment| {
            object::label(deployment, PROVIDER).map(str::to_owned).into_iter().collect()
        });
        Self(deployments)
    }

    /// Returns the Deployments, to be watched.
    pub fn deployments(&self) -> &Objects<PartialObjectMeta<Deployment>> {
        &self.0
    }

    /// Returns whether a Deployment is that of the upstream provider.
    pub fn is_provider(deployment: &PartialObjectMeta<Deployment>) -> bool {
        object::label(deployment, PROVIDER) == Some(UPSTREAM)
    }

    /// Returns whether the upstream provider is installed.
    pub fn is_installed(&self) -> bool {
        !self.0.by_index(BY_PROVIDER, UPSTREAM).is_empty()
    }
}
