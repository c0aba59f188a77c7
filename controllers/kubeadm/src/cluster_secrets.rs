//! The Secrets with the authorities and keys of clusters.

use std::sync::Arc;

use engine::{Manager, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use pki::Identity;
use schemas::bootstrap::ClusterConfiguration;

use crate::blocking;
use crate::certificates::{self, Purpose, Recipe};
use crate::checks::{Checked, Checks};
use crate::error::Result;

/// The Secrets of the management cluster, among them those with authorities and keys.
pub(crate) struct ClusterSecrets {
    manager: Manager,
    /// All Secrets.
    pub objects: Objects<Secret>,
    /// What was found out about those with authorities and keys.
    checks: Checks,
}

impl ClusterSecrets {
    /// Reads the cache of `manager`, and writes with its client.
    pub fn new(manager: &Manager) -> Self {
        Self { manager: manager.clone(), objects: manager.objects(), checks: Checks::default() }
    }

    /// Returns the Secret of a cluster for this purpose.
    pub fn get(&self, cluster: &NamespacedName, purpose: Purpose) -> Option<Arc<Secret>> {
        self.objects.get(&name(cluster, purpose))
    }

    /// Returns what was found out about a Secret.
    pub fn checked(&self, secret: &Secret, purpose: Purpose) -> Checked {
        self.checks.of(secret, purpose)
    }

    /// Returns certificate and key of a cluster's Secret; the key of an authority may be empty.
    pub fn identity(&self, cluster: &NamespacedName, purpose: Purpose) -> Result<Identity> {
        let missing = || engine::Error::failed(format!("Secret {} does not exist", name(cluster, purpose)));
        let secret = self.get(cluster, purpose).ok_or_else(missing)?;
        certificates::identity(&secret, certificates::needs_key(purpose))
    }

    /// Creates those Secrets of a cluster that do not exist, with new authorities and keys.
    pub async fn make(
        &self,
        cluster: &NamespacedName,
        purposes: &[Purpose],
        configuration: &ClusterConfiguration,
        owner: &OwnerReference,
    ) -> Result<()> {
        for purpose in purposes {
            let recipe = Recipe::of(configuration)?;
            let identity = blocking::make(recipe, *purpose, &self.manager).await?;
            let (namespace, name) = (&cluster.namespace, &cluster.name);
            let secret = certificates::secret(namespace, name, *purpose, &identity, owner.clone());
            self.objects.create_if_absent(&secret).await?;
        }
        Ok(())
    }

    /// Makes `owner` the controller of a cluster's Secrets.
    pub async fn own_all(
        &self,
        cluster: &NamespacedName,
        purposes: &[Purpose],
        owner: &OwnerReference,
    ) -> Result<()> {
        for purpose in purposes {
            if let Some(secret) = self.get(cluster, *purpose) {
                self.own(&secret, owner.clone()).await?;
            }
        }
        Ok(())
    }

    /// Makes `owner` the controller of a Secret, in the place of another one.
    pub async fn own(&self, secret: &Arc<Secret>, owner: OwnerReference) -> Result<()> {
        let mut wanted = secret.as_ref().clone();
        if let Some(other) = owners::controller(secret.as_ref()).cloned() {
            owners::remove(&mut wanted, &other);
        }
        owners::ensure(&mut wanted, owner);
        self.objects.patch(secret, &wanted, &[]).await?;
        Ok(())
    }
}

fn name(cluster: &NamespacedName, purpose: Purpose) -> NamespacedName {
    NamespacedName::new(cluster.namespace.as_str(), purpose.secret_name(&cluster.name))
}
