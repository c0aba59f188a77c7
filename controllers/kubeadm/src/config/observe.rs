//! Reads the state that a KubeadmConfig's plan depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use parking_lot::Mutex;
use schemas::bootstrap::{KubeadmConfig, KubeadmConfigSpec};
use schemas::cluster::{Cluster, Machine, MachinePool};
use serde::{Deserialize, Serialize};

use super::cluster_info::Signer;
use super::owner::Owner;
use super::plan::{self, Authorities, Lock, Observed, Token};
use super::{render, token};
use crate::certificates::{self, Certificates, Purpose};
use crate::checks::Checks;
use crate::error::{Error, Result};

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

/// The controller of KubeadmConfigs.
pub(super) struct ConfigController {
    pub manager: Manager,
    pub configs: Objects<KubeadmConfig>,
    pub machines: Objects<Machine>,
    pub pools: Objects<MachinePool>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub config_maps: Objects<ConfigMap>,
    /// What was found out about the Secrets with authorities and keys.
    pub checks: Checks,
    /// The last known expiry of each KubeadmConfig's token.
    pub tokens: Mutex<BTreeMap<NamespacedName, DateTime<Utc>>>,
    pub signer: Signer,
}

impl ConfigController {
    /// Returns the Machine or MachinePool that owns a KubeadmConfig.
    pub(super) fn owner_of(&self, config: &KubeadmConfig) -> Option<Owner> {
        let namespace = config.metadata.namespace.clone().unwrap_or_default();
        let named = |name: &str| NamespacedName::new(namespace.as_str(), name);
        let references = config.metadata.owner_references.iter().flatten();
        let is_ours = |reference: &&OwnerReference| {
            let group = reference.api_version.split('/').next().unwrap_or_default();
            group == Machine::GROUP && [Machine::KIND, MachinePool::KIND].contains(&reference.kind.as_str())
        };
        let mut ours = references.filter(is_ours);
        let owner = ours.next()?;
        if owner.kind == Machine::KIND {
            return self.machines.get(&named(&owner.name)).map(Owner::Machine);
        }
        self.pools.get(&named(&owner.name)).map(Owner::Pool)
    }

    /// Returns the Cluster of an owner.
    pub(super) fn cluster_of(&self, owner: &Owner) -> Option<Arc<Cluster>> {
        self.clusters.get(&owner.cluster())
    }

    /// Reads the state on which the plan of `config` depends.
    pub(super) async fn read(&self, config: &Arc<KubeadmConfig>) -> Result<Observed> {
        let owner = self.owner_of(config);
        let cluster = owner.as_ref().and_then(|owner| self.cluster_of(owner));
        let mut observed = Observed {
            config: config.clone(),
            data_secret: self.secrets.get(&NamespacedName::of(config.as_ref())),
            lock: Lock::Free,
            authorities: Authorities::default(),
            missing_values: self.missing_values(config),
            connected: false,
            token: Token::Unknown,
            owner: None,
            cluster: None,
        };
        if let (Some(owner), Some(cluster)) = (owner, cluster) {
            let name = NamespacedName::of(cluster.as_ref());
            observed.lock = self.lock(&owner.name(), self.config_maps.get(&lock_name(&cluster)).as_deref());
            observed.connected = self.manager.clusters().get(&name).is_ok();
            observed.authorities = self.certificates(&name, owner.is_control_plane(), &config.spec).1;
            if plan::has_data(config) && plan::wants_token(&observed, &owner) {
                observed.token = self.token(&name, config).await?;
            }
            (observed.owner, observed.cluster) = (Some(owner), Some(cluster));
        }
        Ok(observed)
    }

    fn lock(&self, owner: &NamespacedName, lock: Option<&ConfigMap>) -> Lock {
        let Some(lock) = lock else { return Lock::Free };
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

    /// Returns the existing authorities and keys, and what is wrong with the others. A worker needs only the
    /// cluster's certificate.
    pub(super) fn certificates(
        &self,
        cluster: &NamespacedName,
        is_control_plane: bool,
        spec: &KubeadmConfigSpec,
    ) -> (Certificates, Authorities) {
        let config = spec.cluster_configuration.clone().unwrap_or_default();
        let purposes = match is_control_plane {
            true => certificates::purposes(&config),
            false => vec![Purpose::ClusterAuthority],
        };
        let (mut found, mut wrong) = (Certificates::new(), Authorities::default());
        for purpose in purposes {
            let name = NamespacedName::new(cluster.namespace.as_str(), purpose.secret_name(&cluster.name));
            let Some(secret) = self.secrets.get(&name) else {
                wrong.missing.push(purpose);
                continue;
            };
            let problem = self.checks.of(&secret, purpose).problem(&name.name, self.manager.clock().now());
            match certificates::identity(&secret, certificates::needs_key(purpose)) {
                Ok(identity) if problem.is_none() => drop(found.insert(purpose, identity)),
                Ok(_) => wrong.unusable.extend(problem),
                Err(error) => wrong.unusable.push(error.to_string()),
            }
        }
        (found, wrong)
    }

    /// Returns the values of Secrets that files and users name and that do not exist, each as a sentence.
    fn missing_values(&self, config: &KubeadmConfig) -> Vec<String> {
        let namespace = config.metadata.namespace.as_deref().unwrap_or_default();
        let values = self.named_secrets(namespace, &config.spec);
        let named = named_values(&config.spec).into_iter();
        named
            .filter(|named| !values.contains_key(named))
            .map(|(name, key)| format!("Secret {name} does not exist or has no key {key}"))
            .collect()
    }

    /// Reads the bootstrap token from the workload cluster, unless it is known to be valid for long.
    async fn token(&self, cluster: &NamespacedName, config: &KubeadmConfig) -> Result<Token> {
        let (name, now) = (NamespacedName::of(config), self.manager.clock().now());
        let known = self.tokens.lock().get(&name).copied();
        if let Some(known) = known.filter(|known| !token::is_refresh_due(*known, now)) {
            return Ok(Token::Expires(known));
        }
        let secret = render::token(&config.spec).and_then(token::secret_name);
        let (Ok(workload), Some(secret)) = (self.manager.clusters().get(cluster), secret) else {
            return Ok(Token::Unknown);
        };
        let api = Api::<Secret>::namespaced(workload.client().clone(), token::NAMESPACE);
        let found = api.get_opt(&secret).await;
        let found = found.map_err(|error| Error::Workload(format!("read the bootstrap token: {error}")))?;
        let Some(found) = found else { return Ok(Token::Missing) };
        // A token that does not say when it expires is extended, so that it does.
        let expires = token::expiry(&found).unwrap_or(now);
        self.tokens.lock().insert(name, expires);
        Ok(Token::Expires(expires))
    }

    /// Returns the values of the Secrets that files and users reference, as far as they exist.
    pub(super) fn named_secrets(
        &self,
        namespace: &str,
        spec: &KubeadmConfigSpec,
    ) -> BTreeMap<(String, String), Vec<u8>> {
        named_values(spec)
            .into_iter()
            .filter_map(|(name, key)| {
                let secret = self.secrets.get(&NamespacedName::new(namespace, name.as_str()))?;
                let value = secret.data.as_ref()?.get(&key)?.0.clone();
                Some(((name, key), value))
            })
            .collect()
    }
}

/// Returns name and key of the Secrets' values that files and users name.
fn named_values(spec: &KubeadmConfigSpec) -> Vec<(String, String)> {
    let files = spec.files.iter().filter_map(|file| file.content_from.as_ref()).map(|from| &from.secret);
    let files = files.map(|secret| (secret.name.clone(), secret.key.clone()));
    let users = spec.users.iter().filter_map(|user| user.passwd_from.as_ref()).map(|from| &from.secret);
    files.chain(users.map(|secret| (secret.name.clone(), secret.key.clone()))).collect()
}
