//! Whether objects have the owner references that they are to have.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

/// Returns whether `object` has this reference. One with another version of the owner's kind is another reference: clients that follow it
/// would ask for a version that may not be served any more.
pub fn is_current<K: Resource>(object: &K, owner: &OwnerReference) -> bool {
    let is_controller = |reference: &OwnerReference| reference.controller.unwrap_or_default();
    object.meta().owner_references.iter().flatten().any(|present| {
        present.uid == owner.uid
            && present.api_version == owner.api_version
            && present.kind == owner.kind
            && is_controller(present) == is_controller(owner)
    })
}
