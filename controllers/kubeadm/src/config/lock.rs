//! The init lock: of several control plane Machines, one initialises the cluster.

use engine::{Manager, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::{Cluster, Machine};
use serde::{Deserialize, Serialize};

use super::observed::Lock;
use crate::error::Result;

/// The content of the init lock.
#[derive(Debug, Serialize, Deserialize)]
struct LockInformation {
    /// Name of the Machine that holds the lock.
    #[serde(rename = "machineName")]
    machine: String,
}

/// The key of [`LockInformation`] in the lock's ConfigMap.
const LOCK_KEY: &str = "lock-information";

/// The init locks of clusters.
pub(super) struct InitLocks {
    machines: Objects<Machine>,
    config_maps: Objects<ConfigMap>,
}

impl InitLocks {
    /// Reads the caches of `manager`, and writes with its client.
    pub fn new(manager: &Manager) -> Self {
        Self { machines: manager.objects(), config_maps: manager.objects() }
    }

    /// Returns the state of the init lock for `owner`.
    pub fn state(&self, owner: &NamespacedName, cluster: &Cluster) -> Lock {
        let Some(lock) = self.config_maps.get(&lock_name(cluster)) else { return Lock::Free };
        let text = lock.data.as_ref().and_then(|data| data.get(LOCK_KEY));
        let holder = text.and_then(|text| serde_json::from_str::<LockInformation>(text).ok());
        let Some(holder) = holder else {
            // A lock that names no Machine has no holder.
            return Lock::Abandoned;
        };
        if owner.name == holder.machine {
            Lock::Ours
        } else if self.machines.get(&NamespacedName::new(owner.namespace.as_str(), holder.machine)).is_some()
        {
            Lock::Taken
        } else {
            Lock::Abandoned
        }
    }

    /// Acquires the init lock; returns `false` if another Machine holds it.
    pub async fn acquire(&self, owner: &NamespacedName, cluster: &Cluster) -> Result<bool> {
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
    pub async fn release(&self, cluster: &Cluster) -> Result<()> {
        if let Some(lock) = self.config_maps.get(&lock_name(cluster)) {
            self.config_maps.delete(lock.as_ref()).await?;
        }
        Ok(())
    }
}

/// Returns the name of a cluster's init lock.
fn lock_name(cluster: &Cluster) -> NamespacedName {
    let name = NamespacedName::of(cluster);
    NamespacedName::new(name.namespace, format!("{}-lock", name.name))
}
