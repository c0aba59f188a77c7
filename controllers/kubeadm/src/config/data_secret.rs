//! The Secret with bootstrap data.

use engine::owners;
use k8s_openapi::api::core::v1::Secret;
use schemas::bootstrap::KubeadmConfig;

/// The keys of bootstrap data. Other Secrets of Cluster API's type, such as that of an authority or a kubeconfig, do not have both.
const KEYS: [&str; 2] = ["value", "format"];

/// Returns whether a Secret holds bootstrap data: it has Cluster API's type and the keys, or a KubeadmConfig owns it. Both can
/// have been lost or changed by a restore, but not both at once. Any other Secret is a user's, who chose the name by chance, or one of a
/// cluster.
pub fn is_ours(secret: &Secret) -> bool {
    let has_keys = KEYS.iter().all(|key| secret.data.as_ref().is_some_and(|data| data.contains_key(*key)));
    (secret.type_.as_deref() == Some(engine::names::SECRET_TYPE) && has_keys)
        || owners::find(secret, KubeadmConfig::GROUP, KubeadmConfig::KIND).is_some()
}
