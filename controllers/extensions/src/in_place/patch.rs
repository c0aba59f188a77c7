//! Applies the patch of an extension to a current object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::answers::Patch;

/// Returns the object with what the patch changes below `path`. Other changes, such as those of a status, do not count.
///
/// # Errors
/// What of the patch cannot be read, or does not fit.
pub fn patched(object: &Value, patch: Option<&Patch>, path: &[&str]) -> Result<Value, String> {
    let mut object = object.clone();
    let Some(patch) = patch.filter(|patch| !patch.patch_type.is_empty() || patch.patch.is_some()) else {
        return Ok(object);
    };
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let failed = |why: String| format!("the patch for {kind}: {why}");
    let text = STANDARD
        .decode(patch.patch.as_deref().unwrap_or_default())
        .map_err(|error| failed(format!("it is not in base64: {error}")))?;
    let applied = match patch.patch_type.as_str() {
        "JSONPatch" => machinery::patch::json_patch(&object, &text),
        "JSONMergePatch" if text.is_empty() => return Ok(object),
        "JSONMergePatch" => machinery::patch::merge_patch(&object, &text),
        other => return Err(failed(format!("patchType must be JSONPatch or JSONMergePatch, not {other:?}"))),
    };
    let mut applied = applied.map_err(|status| failed(status.message))?.object;
    let changed = path.iter().try_fold(&mut applied, |value, name| value.get_mut(name)).map(Value::take);
    let place = path.iter().try_fold(&mut object, |value, name| value.get_mut(name));
    if let (Some(changed), Some(place)) = (changed, place) {
        *place = changed;
    }
    Ok(object)
}
