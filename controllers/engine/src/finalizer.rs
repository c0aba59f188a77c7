//! Adding and removing finalizers.

use std::sync::Arc;

use crate::error::Result;
use crate::object::{self, Kind};
use crate::objects::Objects;

/// Returns whether `object` has the finalizer.
pub fn has<K: Kind>(object: &K, finalizer: &str) -> bool {
    object.meta().finalizers.iter().flatten().any(|present| present == finalizer)
}

/// Adds the finalizer to `object` in memory; returns `true` if it was absent.
pub fn add<K: Kind>(object: &mut K, finalizer: &str) -> bool {
    if has(object, finalizer) {
        return false;
    }
    object.meta_mut().finalizers.get_or_insert_default().push(finalizer.to_owned());
    true
}

/// Removes the finalizer from `object` in memory; returns `true` if it was present.
pub fn remove<K: Kind>(object: &mut K, finalizer: &str) -> bool {
    let had = has(object, finalizer);
    if let Some(finalizers) = &mut object.meta_mut().finalizers {
        finalizers.retain(|present| present != finalizer);
    }
    if object.meta().finalizers.as_ref().is_some_and(Vec::is_empty) {
        object.meta_mut().finalizers = None;
    }
    had
}

/// Adds the finalizer to a stored object if it is absent; call it before creating anything that needs
/// clean-up. An object that is being deleted is left unchanged.
pub async fn ensure<K: Kind + PartialEq>(
    objects: &Objects<K>,
    object: &Arc<K>,
    finalizer: &str,
) -> Result<Arc<K>> {
    if object::is_deleting(object.as_ref()) || has(object.as_ref(), finalizer) {
        return Ok(object.clone());
    }
    let mut wanted = object.as_ref().clone();
    add(&mut wanted, finalizer);
    objects.patch(object, &wanted, &[]).await
}
