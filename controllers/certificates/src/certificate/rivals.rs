//! Certificates that name the same Secret: one has it, and the others wait.

use std::sync::Arc;

use engine::{Change, NamespacedName, Objects, Request};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::names::CERTIFICATE_NAME;

/// Returns the Certificates that may have a Secret because one no longer names it, or is gone.
pub(super) fn of_change(
    certificates: &Objects<DynamicObject>,
    change: &Change<DynamicObject>,
) -> Vec<Request> {
    let Some(old) = &change.old else { return Vec::new() };
    let has_it = |new: &Arc<DynamicObject>| {
        secret_of(new) == secret_of(old) && new.metadata.deletion_timestamp == old.metadata.deletion_timestamp
    };
    if change.new.as_ref().is_some_and(has_it) {
        return Vec::new();
    }
    let all = certificates.cache().in_namespace(&change.name().namespace);
    let rivals = all.iter().filter(|one| secret_of(one) == secret_of(old));
    rivals.map(|one| NamespacedName::of(one.as_ref())).collect()
}

/// Returns the name of the Certificate that has the Secret of `certificate`, if it is another one of `all`, which are those of its
/// namespace: the one in the Secret's annotation, as in cert-manager, or else the one that was created first.
pub(super) fn owner(
    certificate: &DynamicObject,
    all: &[Arc<DynamicObject>],
    secret: Option<&Secret>,
) -> Option<String> {
    let names_it = |one: &&Arc<DynamicObject>| {
        secret_of(one) == secret_of(certificate) && one.metadata.deletion_timestamp.is_none()
    };
    let rivals: Vec<&Arc<DynamicObject>> = all.iter().filter(names_it).collect();
    let issued_for = secret.and_then(|secret| secret.annotations().get(CERTIFICATE_NAME).cloned());
    let owner = rivals.iter().find(|one| Some(one.name_any()) == issued_for);
    let first = || rivals.iter().min_by_key(|one| (one.creation_timestamp(), one.name_any()));
    let owner = owner.or_else(first)?.name_any();
    (owner != certificate.name_any()).then_some(owner)
}

fn secret_of(certificate: &DynamicObject) -> &Value {
    &certificate.data["spec"]["secretName"]
}
