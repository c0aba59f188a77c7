//! Fills the Secrets that are tokens of ServiceAccounts, and deletes those whose account is gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kinds::Subresource;
use machinery::meta;
use machinery::status::Status;
use serde_json::json;
use store::{Event, EventKind, Stored};
use tokio::time::Instant;

use super::part::Part;
use super::retries::Retries;
use crate::aside::Aside;
use crate::context::{Context, DeleteOptions, PatchBody, Preconditions};
use crate::verbs;
use crate::write::writes::Writes;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Signs the tokens of Secrets.
pub trait SignTokens: Send + Sync {
    /// Returns a token of an account, given by name and UID, that is valid as long as it stands in this Secret.
    ///
    /// # Errors
    /// 500 if signing fails.
    fn sign(&self, namespace: &str, secret: &str, account: (&str, &str)) -> Result<String, Status>;
}

/// What the Secrets are filled with.
#[derive(Clone)]
pub struct TokenSecrets {
    /// Signs the tokens.
    pub signer: Arc<dyn SignTokens>,
    /// The PEM text of the server's authority.
    pub root_certificate: Option<String>,
}

/// The task, with the keys of the Secrets to look at.
pub(crate) struct Filling {
    queue: Retries,
    /// The prefixes of the Secrets among which tokens are still to be searched.
    unsearched: BTreeSet<String>,
    signer: Arc<dyn SignTokens>,
    /// The certificate of the server's authority, as in the data of a Secret.
    authority: Option<String>,
}

impl Filling {
    /// Nothing is read here, because the server's start waits for it.
    pub(crate) fn new(content: TokenSecrets) -> Self {
        Self {
            queue: Retries::default(),
            unsearched: BTreeSet::from(["/registry/core/secrets/".to_owned()]),
            signer: content.signer,
            authority: content.root_certificate.map(|text| STANDARD.encode(text)),
        }
    }
}

/// Returns whether a Secret may be a token, without parsing it.
fn may_be_token(stored: &Stored) -> bool {
    std::str::from_utf8(&stored.value).is_ok_and(|text| text.contains(TYPE))
}

impl Part for Filling {
    fn observe(&mut self, _writes: &Writes, event: &Event) {
        let key = event.key();
        match (key.resource(), event.kind) {
            ("secrets", EventKind::Added | EventKind::Modified) if may_be_token(&event.object) => {
                self.queue.insert(key.as_str().to_owned());
            }
            ("serviceaccounts", EventKind::Deleted) => {
                let namespace = key.namespace().unwrap_or_default();
                self.unsearched.insert(format!("/registry/core/secrets/{namespace}/"));
            }
            _ => {}
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        self.search(writes).await;
        for key in self.queue.take(writes) {
            let (_, _, namespace, name) = crate::storage::keys::split(&key);
            let filled = self.fill(writes, namespace, name).await;
            if let Some(status) = self.queue.ended(writes, &key, filled) {
                tracing::warn!(namespace, name, %status, "the Secret of a token is not filled");
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.queue.again_at()
    }
}

impl Filling {
    /// Adds the Secrets that may be tokens to those to look at. All Secrets together can be large.
    async fn search(&mut self, writes: &Writes) {
        let prefixes = std::mem::take(&mut self.unsearched);
        let stored: Vec<Arc<Stored>> =
            prefixes.iter().flat_map(|prefix| writes.storage().range(prefix).0).collect();
        let bytes: usize = stored.iter().map(|stored| stored.value.len()).sum();
        let found = async move {
            let tokens = stored.iter().filter(|stored| may_be_token(stored));
            tokens.map(|stored| stored.key.as_str().to_owned()).collect::<Vec<_>>()
        };
        // It never fails, because it waits for no turn.
        if let Ok(found) = Aside::default().perform(bytes, found).await {
            self.queue.extend(found);
        }
    }

    async fn fill(&self, writes: &Writes, namespace: &str, name: &str) -> Result<(), Status> {
        let reader = writes.versions().reader();
        let secret = reader.stored_object("", "secrets", namespace, name);
        let Some(secret) = secret.filter(|secret| secret["type"] == TYPE && !meta::is_deleting(secret))
        else {
            return Ok(());
        };
        let Some(served) = writes.versions().served("", "v1", "secrets") else { return Ok(()) };
        let mut context = Context::internal("kube-controller-manager");
        let annotations = &secret["metadata"]["annotations"];
        let text = |name: &str| annotations[name].as_str().unwrap_or_default();
        let (account, uid) = (text(ACCOUNT), text(ACCOUNT_UID));
        let found = reader.stored_object("", "serviceaccounts", namespace, account);
        let Some(found) = found.filter(|found| uid.is_empty() || meta::uid(found) == uid) else {
            let uid = Some(meta::uid(&secret).to_owned());
            let resource_version = Some(meta::resource_version(&secret).to_owned());
            let preconditions = Preconditions { uid, resource_version };
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            return verbs::delete(writes, &mut context, &served, namespace, name, &options).await.map(drop);
        };
        let account_uid = meta::uid(&found);
        let mut data = json!({});
        let lacks = |field: &str| secret["data"][field].as_str().is_none_or(str::is_empty);
        if lacks("token") {
            let token = self.signer.sign(namespace, name, (account, account_uid))?;
            data["token"] = STANDARD.encode(token).into();
        }
        if lacks("namespace") {
            data["namespace"] = STANDARD.encode(namespace).into();
        }
        let authority = self.authority.as_deref();
        if let Some(authority) = authority.filter(|authority| secret["data"]["ca.crt"] != *authority) {
            data["ca.crt"] = authority.into();
        }
        if data.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        let patch = json!({"data": data, "metadata": {
            "uid": meta::uid(&secret), "resourceVersion": meta::resource_version(&secret),
            "annotations": {ACCOUNT_UID: account_uid},
        }});
        let patch = PatchBody::Merge(patch.to_string().into());
        verbs::patch(writes, &mut context, &served, namespace, name, Subresource::None, patch).await.map(drop)
    }
}
