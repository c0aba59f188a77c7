//! Owner references.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use crate::object::{self, Kind, NamespacedName};

/// Returns a reference to `owner` that is not a controller reference.
pub fn reference<K: Kind>(owner: &K, dynamic: &K::DynamicType) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(dynamic).into_owned(),
        kind: K::kind(dynamic).into_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: object::uid(owner).to_owned(),
        controller: None,
        block_owner_deletion: None,
    }
}

/// Returns a controller reference to `owner`, which also blocks its foreground deletion.
pub fn controller_reference<K: Kind>(owner: &K, dynamic: &K::DynamicType) -> OwnerReference {
    OwnerReference { controller: Some(true), block_owner_deletion: Some(true), ..reference(owner, dynamic) }
}

/// Returns the controller reference of `object`, or `None`.
pub fn controller<K: Resource>(object: &K) -> Option<&OwnerReference> {
    object.meta().owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Returns whether `object` is controlled by the object with this UID.
pub fn is_controlled_by<K: Resource>(object: &K, uid: &str) -> bool {
    controller(object).is_some_and(|owner| owner.uid == uid)
}

/// Returns whether `object` has any owner reference to the object with this UID.
pub fn is_owned_by<K: Resource>(object: &K, uid: &str) -> bool {
    object.meta().owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

/// Returns the first owner of this group and kind, whatever its version.
pub fn find<'a, K: Resource>(object: &'a K, group: &str, kind: &str) -> Option<&'a OwnerReference> {
    object
        .meta()
        .owner_references
        .iter()
        .flatten()
        .find(|owner| owner.kind == kind && self::group(owner) == group)
}

/// Returns the name of the first owner of the kind `O`.
pub fn named<O: Kind<DynamicType = ()>>(object: &impl Resource) -> Option<NamespacedName> {
    let owner = find(object, &O::group(&()), &O::kind(&()))?;
    Some(NamespacedName::new(object.meta().namespace.clone().unwrap_or_default(), owner.name.as_str()))
}

/// Returns the API group of a reference.
pub fn group(owner: &OwnerReference) -> &str {
    owner.api_version.split_once('/').map_or("", |(group, _)| group)
}

fn same(a: &OwnerReference, b: &OwnerReference) -> bool {
    group(a) == group(b) && a.kind == b.kind && a.name == b.name
}

/// Adds `owner`, or replaces the reference to the same group, kind and name in place.
pub fn ensure<K: Resource>(object: &mut K, owner: OwnerReference) {
    let owners = object.meta_mut().owner_references.get_or_insert_default();
    match owners.iter_mut().find(|present| same(present, &owner)) {
        Some(present) => *present = owner,
        None => owners.push(owner),
    }
}

/// Removes each reference to the same group, kind and name as `owner`.
pub fn remove<K: Resource>(object: &mut K, owner: &OwnerReference) {
    if let Some(owners) = &mut object.meta_mut().owner_references {
        owners.retain(|present| !same(present, owner));
    }
    if object.meta().owner_references.as_ref().is_some_and(Vec::is_empty) {
        object.meta_mut().owner_references = None;
    }
}
