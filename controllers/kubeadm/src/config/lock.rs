//! The init lock: of several control plane Machines, one initialises the cluster.

use engine::{NamespacedName, owners};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::Cluster;

use super::observe::{ConfigController, LOCK_KEY, LockInformation, lock_name};
use crate::error::Result;

impl ConfigController {
    /// Acquires the init lock; returns `false` if another Machine holds it.
    pub(super) async fn lock_for(&self, owner: &NamespacedName, cluster: &Cluster) -> Result<bool> {
        let name = lock_name(cluster);
        let holder = LockInformation { machine: owner.name.clone() };
        let text =
            serde_json::to_string(&holder).map_err(|error| engine::Error::json("the init lock", error))?;
        let label =
            (engine::names::CLUSTER_NAME.to_owned(), cluster.metadata.name.clone().unwrap_or_default());
        let lock = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.name),
                namespace: Some(name.namespace),
                labels: Some([label].into()),
                owner_references: Some(vec![owners::reference(cluster, &())]),
                ..ObjectMeta::default()
            },
            data: Some([(LOCK_KEY.to_owned(), text)].into()),
            ..ConfigMap::default()
        };
        let (existing, _) = self.config_maps.create_if_absent(&lock).await?;
        Ok(existing.data == lock.data)
    }

    /// Deletes the init lock.
    pub(super) async fn unlock(&self, cluster: &Cluster) -> Result<()> {
        if let Some(lock) = self.config_maps.get(&lock_name(cluster)) {
            self.config_maps.delete(lock.as_ref()).await?;
        }
        Ok(())
    }
}
