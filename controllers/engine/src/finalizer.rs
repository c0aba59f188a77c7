//! Finalizers.

use std::sync::Arc;

use crate::error::Result;
use crate::object::{self, Kind};
use crate::objects::Objects;

/// Whether `object` has the finalizer.
pub fn has<K: Kind>(object: &K, finalizer: &str) -> bool {
    object.meta().finalizers.iter().flatten().any(|present| present == finalizer)
}

/// Adds the finalizer to `object` in memory; true when it was not there.
pub fn add<K: Kind>(object: &mut K, finalizer: &str) -> bool {
    if has(object, finalizer) {
        return false;
    }
    object.meta_mut().finalizers.get_or_insert_default().push(finalizer.to_owned());
    true
}

/// Removes the finalizer from `object` in memory; true when it was there.
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

/// Makes sure that a stored object has the finalizer, before the reconcile makes anything that has to be cleaned up. An object that
/// is being deleted gets none.
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
