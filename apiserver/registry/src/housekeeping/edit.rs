//! Changes of objects by the controllers that clean up.

use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use crate::aside::Aside;
use crate::context::Context;
use crate::target::Target;
use crate::write::changed::{Changed, Ownership};
use crate::write::writes::Writes;

/// The field manager of these controllers.
pub(super) const MANAGER: &str = "kube-controller-manager";

/// Changes the object with this UID.
///
/// # Errors
/// 409 if another object has its name.
pub(super) async fn edit(
    writes: &Writes,
    target: &Target<'_>,
    uid: &str,
    change: impl Fn(&mut Value) + Send + Sync,
) -> Result<(), Status> {
    let mut context = Context::internal(MANAGER);
    let changed = writes.change(&mut context, target, |_, live| {
        let mut object = live.clone();
        change(&mut object);
        Ok(Changed { object, ownership: Ownership::Note, expected_uid: Some(uid.to_owned()) })
    });
    let bytes = writes.storage().bytes(&target.key());
    Aside::default().perform(bytes, changed).await?.map(drop)
}

/// Removes the entries of a list in `metadata` for which `keep` returns false.
pub(super) fn retain(object: &mut Value, field: &str, keep: impl Fn(&Value) -> bool) {
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let Some(list) = metadata.get_mut(field).and_then(Value::as_array_mut) else { return };
    list.retain(keep);
    if list.is_empty() {
        metadata.remove(field);
    }
}
