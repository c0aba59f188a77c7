//! Pods made from a template.

use k8s_openapi::api::core::v1::{Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use machinery::hash::fnv1a_64;

/// The label of Pods of DaemonSets and StatefulSets that separates those of one template from those of others.
pub const REVISION_HASH: &str = "controller-revision-hash";

/// Returns a text that stands for a template.
pub fn hash(template: &PodTemplateSpec) -> String {
    let text = serde_json::to_vec(template).unwrap_or_default();
    format!("{:010}", fnv1a_64(&text) % 10_000_000_000)
}

/// Returns a new Pod of this name, which its owner controls.
pub fn pod<K: Resource<DynamicType = ()>>(owner: &K, template: &PodTemplateSpec, name: String) -> Pod {
    let template = template.clone();
    let metadata = template.metadata.unwrap_or_default();
    let reference = OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..owner.owner_ref(&()).unwrap_or_default()
    };
    Pod {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: owner.meta().namespace.clone(),
            labels: metadata.labels,
            annotations: metadata.annotations,
            finalizers: metadata.finalizers,
            owner_references: Some(vec![reference]),
            ..ObjectMeta::default()
        },
        spec: template.spec.map(with_service_account),
        status: None,
    }
}

/// Names the service account of a Pod that names none, as the admission of Kubernetes does: tokens are bound to the Pods of an account.
fn with_service_account(mut spec: PodSpec) -> PodSpec {
    if spec.service_account_name.as_ref().is_none_or(String::is_empty) {
        spec.service_account_name = Some("default".to_owned());
    }
    spec
}
