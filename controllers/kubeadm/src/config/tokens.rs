//! Reads and writes bootstrap tokens in workload clusters.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::{Action, Manager, NamespacedName};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use machinery::clock::rfc3339;
use parking_lot::Mutex;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Cluster;
use serde_json::json;

use super::cluster_info::Signer;
use super::observed::{Observed, Token};
use super::{render, token};
use crate::error::{Error, Result};

/// The bootstrap tokens in workload clusters.
pub(super) struct Tokens {
    manager: Manager,
    /// The last known expiry of each KubeadmConfig's token.
    known: Mutex<BTreeMap<NamespacedName, DateTime<Utc>>>,
    signer: Signer,
}

impl Tokens {
    /// Reaches the workload clusters of `manager`.
    pub fn new(manager: &Manager) -> Self {
        Self { manager: manager.clone(), known: Mutex::default(), signer: Signer::default() }
    }

    /// Forgets the token of a KubeadmConfig that no longer exists.
    pub fn forget(&self, config: &NamespacedName) {
        self.known.lock().remove(config);
    }

    /// Reads the bootstrap token from the workload cluster, unless it is known to be valid for long.
    pub async fn read(&self, cluster: &NamespacedName, config: &KubeadmConfig) -> Result<Token> {
        let (name, now) = (NamespacedName::of(config), self.manager.clock().now());
        let known = self.known.lock().get(&name).copied();
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
        self.known.lock().insert(name, expires);
        Ok(Token::Expires(expires))
    }

    /// Creates a bootstrap token and returns it; it is a secret.
    pub async fn make(
        &self,
        cluster: &NamespacedName,
        config: &KubeadmConfig,
        now: DateTime<Utc>,
    ) -> Result<String> {
        let workload = self.manager.clusters().get(cluster)?;
        let token = token::generate(self.manager.random());
        let secret = token::secret(&token, now).ok_or_else(|| Error::Bootstrap("no token".to_owned()))?;
        let api = Api::<Secret>::namespaced(workload.client().clone(), token::NAMESPACE);
        let created = api.create(&PostParams::default(), &secret).await;
        created.map_err(|error| Error::Workload(format!("create a bootstrap token: {error}")))?;
        self.signer.sign(&self.manager, &workload, &token);
        self.known.lock().insert(NamespacedName::of(config), now + token::LIFETIME);
        Ok(token)
    }

    /// Extends the bootstrap token; creates it again if it is gone, since the bootstrap data contain it.
    pub async fn keep(&self, observed: &Observed, cluster: &Cluster, now: DateTime<Utc>) -> Result<Action> {
        let workload = self.manager.clusters().get(&NamespacedName::of(cluster))?;
        let config = observed.config.as_ref();
        let Some(fresh) = render::token(&config.spec).and_then(|token| token::secret(token, now)) else {
            return Ok(Action::done());
        };
        let name = fresh.metadata.name.clone().unwrap_or_default();
        let api = Api::<Secret>::namespaced(workload.client().clone(), token::NAMESPACE);
        let failed = |error: kube::Error| Error::Workload(format!("prolong the bootstrap token: {error}"));
        if observed.token == Token::Missing {
            api.create(&PostParams::default(), &fresh).await.map_err(failed)?;
            render::token(&config.spec)
                .iter()
                .for_each(|token| self.signer.sign(&self.manager, &workload, token));
        } else {
            let expiration = rfc3339(now + token::LIFETIME);
            let patch = json!({"data": {"expiration": ByteString(expiration.into_bytes())}});
            api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.map_err(failed)?;
        }
        self.known.lock().insert(NamespacedName::of(config), now + token::LIFETIME);
        Ok(Action::requeue_after(token::CHECK))
    }
}
