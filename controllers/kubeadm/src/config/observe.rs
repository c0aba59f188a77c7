//! Reads the state that a KubeadmConfig's plan depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{NamespacedName, Objects};
use k8s_openapi::api::core::v1::Secret;
use schemas::bootstrap::{KubeadmConfig, KubeadmConfigSpec};

use super::controller::ConfigController;
use super::data_secret;
use super::observed::{Authorities, Lock, Observed, Token};
use super::plan;
use crate::certificates::{self, Certificates, Purpose};
use crate::cluster_secrets::ClusterSecrets;
use crate::error::Result;

/// Reads the state on which the plan of `config` depends.
pub(super) async fn observe(this: &ConfigController, config: &Arc<KubeadmConfig>) -> Result<Observed> {
    let owner = this.owners.of(config);
    let cluster = owner.as_ref().and_then(|owner| this.owners.cluster(owner));
    let named = this.secrets.objects.get(&NamespacedName::of(config.as_ref()));
    let (data_secret, taken) = match named {
        Some(secret) if !data_secret::is_ours(&secret) => (None, Some(secret)),
        secret => (secret, None),
    };
    let mut observed = Observed {
        config: config.clone(),
        data_secret,
        taken,
        lock: Lock::Free,
        authorities: Authorities::default(),
        missing_values: missing_values(&this.secrets.objects, config),
        connected: false,
        token: Token::Unknown,
        owner: None,
        cluster: None,
    };
    if let (Some(owner), Some(cluster)) = (owner, cluster) {
        let (name, now) = (NamespacedName::of(cluster.as_ref()), this.manager.clock().now());
        observed.lock = this.locks.state(&owner.name(), &cluster);
        observed.connected = this.manager.clusters().get(&name).is_ok();
        (_, observed.authorities) =
            certificates(&this.secrets, &name, owner.is_control_plane(), &config.spec, now);
        if plan::has_data(config) && plan::wants_token(&observed, &owner) {
            observed.token = this.tokens.read(&name, config).await?;
        }
        (observed.owner, observed.cluster) = (Some(owner), Some(cluster));
    }
    Ok(observed)
}

/// Returns the existing authorities and keys, and what is wrong with the others. A worker needs only the
/// cluster's certificate.
pub(super) fn certificates(
    secrets: &ClusterSecrets,
    cluster: &NamespacedName,
    is_control_plane: bool,
    spec: &KubeadmConfigSpec,
    now: DateTime<Utc>,
) -> (Certificates, Authorities) {
    let config = spec.cluster_configuration.clone().unwrap_or_default();
    let purposes = match is_control_plane {
        true => certificates::purposes(&config),
        false => vec![Purpose::ClusterAuthority],
    };
    let (mut found, mut wrong) = (Certificates::new(), Authorities::default());
    for purpose in purposes {
        let Some(secret) = secrets.get(cluster, purpose) else {
            wrong.missing.push(purpose);
            continue;
        };
        let problem = secrets.checked(&secret, purpose).problem(&purpose.secret_name(&cluster.name), now);
        match certificates::identity(&secret, certificates::needs_key(purpose)) {
            Ok(identity) if problem.is_none() => drop(found.insert(purpose, identity)),
            Ok(_) => wrong.unusable.extend(problem),
            Err(error) => wrong.unusable.push(error.to_string()),
        }
    }
    (found, wrong)
}

/// Returns the values of Secrets that files and users name and that do not exist, each as a sentence.
fn missing_values(secrets: &Objects<Secret>, config: &KubeadmConfig) -> Vec<String> {
    let namespace = config.metadata.namespace.as_deref().unwrap_or_default();
    let values = named_secrets(secrets, namespace, &config.spec);
    let named = named_values(&config.spec).into_iter();
    named
        .filter(|named| !values.contains_key(named))
        .map(|(name, key)| format!("Secret {name} does not exist or has no key {key}"))
        .collect()
}

/// Returns the values of the Secrets that files and users reference, as far as they exist.
pub(super) fn named_secrets(
    secrets: &Objects<Secret>,
    namespace: &str,
    spec: &KubeadmConfigSpec,
) -> BTreeMap<(String, String), Vec<u8>> {
    named_values(spec)
        .into_iter()
        .filter_map(|(name, key)| {
            let secret = secrets.get(&NamespacedName::new(namespace, name.as_str()))?;
            let value = secret.data.as_ref()?.get(&key)?.0.clone();
            Some(((name, key), value))
        })
        .collect()
}

/// Returns name and key of the Secrets' values that files and users name.
fn named_values(spec: &KubeadmConfigSpec) -> Vec<(String, String)> {
    let files = spec.files.iter().filter_map(|file| file.content_from.as_ref()).map(|from| &from.secret);
    let files = files.map(|secret| (secret.name.clone(), secret.key.clone()));
    let users = spec.users.iter().filter_map(|user| user.passwd_from.as_ref()).map(|from| &from.secret);
    files.chain(users.map(|secret| (secret.name.clone(), secret.key.clone()))).collect()
}
