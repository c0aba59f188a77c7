//! Maintains the ConfigMap that tells servers which extend the API whose client certificates this server trusts.

use std::sync::Arc;

use kinds::Subresource;
use machinery::status::Status;
use serde_json::{Value, json};
use store::Event;

use super::part::{self, Part};
use crate::context::{Context, Input, PatchBody};
use crate::verbs;
use crate::write::writes::Writes;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
const FIELD: &str = "client-ca-file";

/// Maintains the ConfigMap with the authority of client certificates, PEM.
pub(crate) fn start(writes: &Arc<Writes>, authority: String) {
    part::run(writes, "/registry/core/configmaps/kube-system/", |_| Trusted { authority, stale: true });
}

struct Trusted {
    authority: String,
    stale: bool,
}

impl Part for Trusted {
    fn observe(&mut self, _: &Writes, event: &Event) {
        self.stale |= event.key().name() == NAME;
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        if std::mem::take(&mut self.stale)
            && let Err(status) = self.reconcile(writes).await
            && !part::is_overtaken(&status)
        {
            tracing::warn!(name = NAME, %status, "the authority of client certificates could not be published");
        }
        false
    }
}

impl Trusted {
    async fn reconcile(&self, writes: &Writes) -> Result<(), Status> {
        let Some(maps) = writes.versions().served("", "v1", "configmaps") else { return Ok(()) };
        let mut context = Context::internal("kube-apiserver");
        let found = writes.storage().get(&format!("/registry/core/configmaps/{NAMESPACE}/{NAME}"));
        let Some(found) = found else {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME},
                "data": {FIELD: self.authority},
            });
            return verbs::create(writes, &mut context, &maps, NAMESPACE, Input::new(map)).await.map(drop);
        };
        let found: Value = machinery::decode::own(&found.value).unwrap_or_default();
        let published = found["data"][FIELD].as_str().unwrap_or_default();
        if published.contains(self.authority.trim()) {
            return Ok(());
        }
        // Authorities of other servers stay.
        let patch = json!({"data": {FIELD: format!("{published}{}", self.authority)}});
        let patch = PatchBody::Merge(patch.to_string().into());
        let none = Subresource::None;
        verbs::patch(writes, &mut context, &maps, NAMESPACE, NAME, none, patch).await.map(drop)
    }
}
