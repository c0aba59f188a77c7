//! Reads the state that a KubeadmConfig's plan depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{Manager, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use schemas::bootstrap::{KubeadmConfig, KubeadmConfigSpec};
use schemas::cluster::{Cluster, Machine, MachinePool};
use serde::{Deserialize, Serialize};

use super::plan::{CertificateState, Lock, Observed};
use crate::certificates::{self, Certificates, Purpose};
use crate::error::Result;

/// The content of the init lock.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LockInformation {
    /// Name of the Machine that holds the lock.
    #[serde(rename = "machineName")]
    pub machine: String,
}

/// The key of [`LockInformation`] in the lock's ConfigMap.
pub(super) const LOCK_KEY: &str = "lock-information";

/// Returns the name of a cluster's init lock.
pub(super) fn lock_name(cluster: &Cluster) -> NamespacedName {
    let name = NamespacedName::of(cluster);
    NamespacedName::new(name.namespace, format!("{}-lock", name.name))
}

/// Returns the machines of a MachinePool as one Machine. The name of the data Secret is left out, because it may be that of an earlier
/// KubeadmConfig.
fn machine_of_pool(pool: &MachinePool) -> Machine {
    let mut machine =
        Machine { metadata: pool.metadata.clone(), spec: pool.spec.template.spec.clone(), status: None };
    machine.spec.bootstrap.data_secret_name = None;
    machine
}

/// The controller of KubeadmConfigs.
pub(super) struct ConfigController {
    pub manager: Manager,
    pub configs: Objects<KubeadmConfig>,
    pub machines: Objects<Machine>,
    pub pools: Objects<MachinePool>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub config_maps: Objects<ConfigMap>,
    /// The last known expiry of each KubeadmConfig's token.
    pub tokens: Mutex<BTreeMap<NamespacedName, DateTime<Utc>>>,
}

impl ConfigController {
    /// Returns the Machine that owns a KubeadmConfig. A MachinePool is one Machine here: all its machines have the same bootstrap data.
    pub(super) fn machine_of(&self, config: &KubeadmConfig) -> Option<Arc<Machine>> {
        let namespace = config.metadata.namespace.clone().unwrap_or_default();
        if let Some(owner) = owners::find(config, MachinePool::GROUP, MachinePool::KIND) {
            let pool = self.pools.get(&NamespacedName::new(namespace, owner.name.as_str()))?;
            return Some(Arc::new(machine_of_pool(&pool)));
        }
        let owner = owners::find(config, Machine::GROUP, Machine::KIND)?;
        self.machines.get(&NamespacedName::new(namespace, owner.name.as_str()))
    }

    /// Returns the Cluster that a Machine belongs to.
    pub(super) fn cluster_of(&self, machine: &Machine) -> Option<Arc<Cluster>> {
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        self.clusters.get(&NamespacedName::new(namespace, machine.spec.cluster_name.as_str()))
    }

    /// Reads the state on which the plan of `config` depends.
    pub(super) fn read(&self, config: &Arc<KubeadmConfig>) -> Result<Observed> {
        let machine = self.machine_of(config);
        let cluster = machine.as_ref().and_then(|machine| self.cluster_of(machine));
        let mut observed = Observed {
            config: config.clone(),
            data_secret: self.secrets.get(&NamespacedName::of(config.as_ref())),
            lock: Lock::Free,
            certificates: CertificateState::Incomplete,
            connected: false,
            token_expires: self.tokens.lock().get(&NamespacedName::of(config.as_ref())).copied(),
            machine,
            cluster,
        };
        if let (Some(machine), Some(cluster)) = (&observed.machine, &observed.cluster) {
            let name = NamespacedName::of(cluster.as_ref());
            observed.lock = self.lock(machine, self.config_maps.get(&lock_name(cluster)).as_deref());
            observed.connected = self.manager.clusters().get(&name).is_ok();
            let (_, missing) = self.certificates(&name, machine, &config.spec)?;
            if missing.is_empty() {
                observed.certificates = CertificateState::Complete;
            }
        }
        Ok(observed)
    }

    fn lock(&self, machine: &Machine, lock: Option<&ConfigMap>) -> Lock {
        let Some(lock) = lock else { return Lock::Free };
        let text = lock.data.as_ref().and_then(|data| data.get(LOCK_KEY));
        let holder = text.and_then(|text| serde_json::from_str::<LockInformation>(text).ok());
        let Some(holder) = holder else {
            // A lock that names no Machine has no holder.
            return Lock::Abandoned;
        };
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        if machine.metadata.name.as_deref() == Some(holder.machine.as_str()) {
            Lock::Ours
        } else if self.machines.get(&NamespacedName::new(namespace, holder.machine)).is_some() {
            Lock::Taken
        } else {
            Lock::Abandoned
        }
    }

    /// Returns the existing authorities and keys, and the missing ones. A worker needs only the cluster's
    /// certificate.
    pub(super) fn certificates(
        &self,
        cluster: &NamespacedName,
        machine: &Machine,
        spec: &KubeadmConfigSpec,
    ) -> Result<(Certificates, Vec<Purpose>)> {
        let config = spec.cluster_configuration.clone().unwrap_or_default();
        let is_worker = engine::object::label(machine, engine::names::CONTROL_PLANE).is_none();
        let purposes =
            if is_worker { vec![Purpose::ClusterAuthority] } else { certificates::purposes(&config) };
        let (mut found, mut missing) = (Certificates::new(), Vec::new());
        for purpose in purposes {
            let name = NamespacedName::new(cluster.namespace.as_str(), purpose.secret_name(&cluster.name));
            match self.secrets.get(&name) {
                None => missing.push(purpose),
                Some(secret) => {
                    let given = is_worker || certificates::is_given(purpose, &config);
                    let needs_key = !given || purpose == Purpose::EtcdClient;
                    found.insert(purpose, certificates::identity(&secret, needs_key)?);
                }
            }
        }
        Ok((found, missing))
    }

    /// Returns the values of the Secrets that files and users reference, as far as they exist.
    pub(super) fn named_secrets(
        &self,
        namespace: &str,
        spec: &KubeadmConfigSpec,
    ) -> BTreeMap<(String, String), Vec<u8>> {
        let files = spec.files.iter().filter_map(|file| file.content_from.as_ref());
        let users = spec.users.iter().filter_map(|user| user.passwd_from.as_ref());
        let named = files
            .map(|source| (source.secret.name.clone(), source.secret.key.clone()))
            .chain(users.map(|source| (source.secret.name.clone(), source.secret.key.clone())));
        named
            .filter_map(|(name, key)| {
                let secret = self.secrets.get(&NamespacedName::new(namespace, name.as_str()))?;
                let value = secret.data.as_ref()?.get(&key)?.0.clone();
                Some(((name, key), value))
            })
            .collect()
    }
}
