//! Fills the Secrets that are tokens of ServiceAccounts, and deletes those whose account is gone.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kinds::Subresource;
use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};
use store::{Event, EventKind, Stored};
use tokio::time::Instant;

use super::part::Part;
use super::retries::Retries;
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
    content: TokenSecrets,
}

impl Filling {
    pub(crate) fn new(writes: &Writes, content: TokenSecrets) -> Self {
        Self { queue: tokens(writes, "/registry/core/secrets/").collect(), content }
    }
}

/// Returns whether a Secret may be a token, without parsing it.
fn may_be_token(stored: &Stored) -> bool {
    stored.value.windows(TYPE.len()).any(|text| text == TYPE.as_bytes())
}

/// Returns the keys of the Secrets below a prefix that may be tokens.
fn tokens(writes: &Writes, prefix: &str) -> impl Iterator<Item = String> + use<> {
    let (stored, _) = writes.storage().range(prefix);
    stored.into_iter().filter(|stored| may_be_token(stored)).map(|stored| stored.key.as_str().to_owned())
}

impl Part for Filling {
    fn observe(&mut self, writes: &Writes, event: &Event) {
        let key = event.key();
        match (key.resource(), event.kind) {
            ("secrets", EventKind::Added | EventKind::Modified) if may_be_token(&event.object) => {
                self.queue.insert(key.as_str().to_owned());
            }
            ("serviceaccounts", EventKind::Deleted) => {
                let namespace = key.namespace().unwrap_or_default();
                self.queue.extend(tokens(writes, &format!("/registry/core/secrets/{namespace}/")));
            }
            _ => {}
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        for key in self.queue.take(writes) {
            let (_, _, namespace, name) = crate::storage::keys::split(&key);
            let filled = self.fill(writes, &key, namespace, name).await;
            match filled {
                Ok(()) => self.queue.done(&key),
                // The change that came first is observed, too, and handled then.
                Err(status) if matches!(status.reason, "NotFound" | "Conflict") => self.queue.done(&key),
                Err(status) => {
                    if self.queue.failed(writes, key.clone()) {
                        tracing::warn!(namespace, name, %status, "the Secret of a token is not filled");
                    }
                }
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.queue.again_at()
    }
}

impl Filling {
    async fn fill(&self, writes: &Writes, key: &str, namespace: &str, name: &str) -> Result<(), Status> {
        let read = |key: &str| machinery::decode::own::<Value>(&writes.storage().get(key)?.value).ok();
        let Some(secret) = read(key).filter(|secret| secret["type"] == TYPE && !meta::is_deleting(secret))
        else {
            return Ok(());
        };
        let Some(served) = writes.versions().served("", "v1", "secrets") else { return Ok(()) };
        let mut context = Context::internal("kube-controller-manager");
        let annotations = &secret["metadata"]["annotations"];
        let text = |name: &str| annotations[name].as_str().unwrap_or_default();
        let (account, uid) = (text(ACCOUNT), text(ACCOUNT_UID));
        let found = read(&format!("/registry/core/serviceaccounts/{namespace}/{account}"));
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
            let token = self.content.signer.sign(namespace, name, (account, account_uid))?;
            data["token"] = STANDARD.encode(token).into();
        }
        if lacks("namespace") {
            data["namespace"] = STANDARD.encode(namespace).into();
        }
        let authority = self.content.root_certificate.as_ref().map(|text| Value::from(STANDARD.encode(text)));
        if let Some(authority) = authority.filter(|authority| secret["data"]["ca.crt"] != *authority) {
            data["ca.crt"] = authority;
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
