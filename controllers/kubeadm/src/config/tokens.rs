//! Writes bootstrap tokens to workload clusters.

use chrono::{DateTime, Utc};
use engine::{Action, NamespacedName};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use machinery::clock::rfc3339;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Cluster;
use serde_json::json;

use super::observe::ConfigController;
use super::plan::{Observed, Token};
use super::{render, token};
use crate::error::{Error, Result};

impl ConfigController {
    /// Creates a bootstrap token and returns it; it is a secret.
    pub(super) async fn make_token(
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
        self.tokens.lock().insert(NamespacedName::of(config), now + token::LIFETIME);
        Ok(token)
    }

    /// Extends the bootstrap token; creates it again if it is gone, since the bootstrap data contain it.
    pub(super) async fn keep_token(
        &self,
        observed: &Observed,
        cluster: &Cluster,
        now: DateTime<Utc>,
    ) -> Result<Action> {
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
        self.tokens.lock().insert(NamespacedName::of(config), now + token::LIFETIME);
        Ok(Action::requeue_after(token::CHECK))
    }
}
