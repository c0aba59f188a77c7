//! Maintains the default objects of each namespace: the ServiceAccount `default`, and the ConfigMap with the server's
//! root certificate.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use store::{Event, EventKind};

use super::part::Part;
use crate::context::{Context, Input};
use crate::storage::outline;
use crate::verbs;
use crate::write::writes::Writes;

const ACCOUNT: &str = "default";
const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";

/// The task, with the namespaces to check.
pub(crate) struct Defaults {
    queue: BTreeSet<String>,
    /// Whether each namespace has the ServiceAccount.
    accounts: bool,
    /// The text of the ConfigMap; `None` if there is no such ConfigMap.
    root_certificate: Option<String>,
}

impl Defaults {
    pub(crate) fn new(writes: &Writes, accounts: bool, root_certificate: Option<String>) -> Self {
        let (namespaces, _) = writes.storage().range("/registry/core/namespaces/");
        let queue = namespaces.iter().map(|stored| stored.key.name().to_owned()).collect();
        Self { queue, accounts, root_certificate }
    }
}

impl Part for Defaults {
    fn observe(&mut self, _writes: &Writes, event: &Event) {
        let key = event.key();
        let namespace = match (key.resource(), event.kind) {
            ("namespaces", EventKind::Added) => key.name(),
            ("serviceaccounts", EventKind::Deleted) if key.name() == ACCOUNT => {
                key.namespace().unwrap_or_default()
            }
            ("configmaps", EventKind::Deleted | EventKind::Modified) if key.name() == ROOT_CERTIFICATE => {
                key.namespace().unwrap_or_default()
            }
            _ => return,
        };
        self.queue.insert(namespace.to_owned());
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        for namespace in std::mem::take(&mut self.queue) {
            let key = format!("/registry/core/namespaces/{namespace}");
            let namespace_now = writes.storage().stored(&key);
            let is_active =
                |stored: &store::Stored| outline::of(stored).is_some_and(|outline| !outline.is_deleting);
            if !namespace_now.is_some_and(|stored| is_active(&stored)) {
                continue;
            }
            if self.accounts {
                let account =
                    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
                ensure(writes, &namespace, "serviceaccounts", account).await;
            }
            if let Some(certificate) = &self.root_certificate {
                let map = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": certificate},
                    "metadata": {"name": ROOT_CERTIFICATE, "annotations": {
                        "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
                    }},
                });
                ensure(writes, &namespace, "configmaps", map).await;
            }
        }
        false
    }
}

/// Creates the object, or restores its data.
async fn ensure(writes: &Writes, namespace: &str, plural: &str, object: Value) {
    let Some(served) = writes.versions().served("", "v1", plural) else { return };
    let mut context = Context::internal("kube-controller-manager");
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let created = verbs::create(writes, &mut context, &served, namespace, Input::new(object.clone())).await;
    let failed = match created {
        Err(status) if status.reason == "AlreadyExists" && object.get("data").is_some() => {
            let patch = json!({"data": object["data"]}).to_string();
            let patch = crate::context::PatchBody::Merge(patch.into());
            let none = kinds::Subresource::None;
            verbs::patch(writes, &mut context, &served, namespace, &name, none, patch).await.err()
        }
        Err(status) => Some(status),
        Ok(_) => None,
    };
    if let Some(status) = failed
        && !matches!(status.reason, "AlreadyExists" | "NotFound" | "Forbidden")
    {
        tracing::warn!(namespace, name, %status, "an object that every namespace has could not be written");
    }
}
