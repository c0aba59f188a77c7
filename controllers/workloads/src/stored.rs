//! Owners that the cache still has.

use engine::object::{is_deleting, uid};
use engine::{Kind, NamespacedName, Objects, Result};

/// Returns whether the API server has an owner and does not delete it. The cache may not know that yet: owners and their dependents have
/// watches of their own.
pub(crate) async fn is_stored<K: Kind>(owners: &Objects<K>, owner: &K) -> Result<bool> {
    let live = owners.get_live(&NamespacedName::of(owner)).await?;
    Ok(live.is_some_and(|live| uid(live.as_ref()) == uid(owner) && !is_deleting(live.as_ref())))
}
