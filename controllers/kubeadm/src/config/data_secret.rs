//! The Secret with bootstrap data.

use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use schemas::bootstrap::KubeadmConfig;

/// Returns whether a Secret holds bootstrap data: it has Cluster API's type, or a KubeadmConfig owns it. Both can have
/// been lost or changed by a restore, but not both at once. Any other Secret is a user's, who chose the name by chance.
pub fn is_ours(secret: &Secret) -> bool {
    let owners = secret.metadata.owner_references.iter().flatten();
    let group = format!("{}/", KubeadmConfig::group(&()));
    secret.type_.as_deref() == Some(engine::names::SECRET_TYPE)
        || owners
            .into_iter()
            .any(|owner| owner.kind == KubeadmConfig::kind(&()) && owner.api_version.starts_with(&group))
}
