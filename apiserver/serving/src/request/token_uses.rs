//! Labels the Secrets whose tokens are used with the day: once a day for each.

use access::Authenticator;
use access::tokens::{LAST_USED, TokenUse};
use machinery::status::Status;
use registry::{Context, PatchBody, Registry, Subresource};
use serde_json::json;

/// Writes the labels that are missing after a request has been authenticated. A label that cannot be written refuses no request.
pub(crate) async fn label(registry: &Registry, authenticator: &dyn Authenticator) {
    for one in authenticator.take_uses() {
        // On the heap, because hardly any request has something to write.
        if let Err(status) = Box::pin(write(registry, &one)).await {
            let TokenUse { namespace, secret, .. } = one;
            tracing::warn!(namespace, secret, %status, "the Secret of a token does not say when it was used");
        }
    }
}

async fn write(registry: &Registry, used: &TokenUse) -> Result<(), Status> {
    let Some(secrets) = registry.served("", "v1", "secrets") else { return Ok(()) };
    let patch = json!({"metadata": {"uid": used.uid, "labels": {LAST_USED: used.day}}});
    let patch = PatchBody::Merge(patch.to_string().into());
    let mut context = Context::internal("kube-apiserver");
    let (namespace, secret, none) = (&used.namespace, &used.secret, Subresource::None);
    registry.patch(&mut context, &secrets, namespace, secret, none, patch).await.map(drop)
}
