//! Checks that an object is the one that the path names.

use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

/// Checks that name and namespace of the object match the path.
///
/// `name` is empty if the path has none.
pub(crate) fn check_identity(
    namespaced: bool,
    namespace: &str,
    name: &str,
    object: &Value,
) -> Result<(), Status> {
    let given = meta::name(object);
    if !name.is_empty() {
        if given.is_empty() {
            return Err(Status::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given != name {
            return Err(Status::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
    }
    let given = meta::namespace(object);
    if given != namespace && !given.is_empty() && namespaced {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Like [`check_identity`], but also sets the namespace of the object.
pub(crate) fn identify(
    namespaced: bool,
    namespace: &str,
    name: &str,
    object: &mut Value,
) -> Result<(), Status> {
    check_identity(namespaced, namespace, name, object)?;
    if meta::namespace(object) != namespace
        && let Some(metadata) = meta::metadata_mut(object)
    {
        if namespaced {
            metadata.insert("namespace".into(), namespace.into());
        } else {
            metadata.remove("namespace");
        }
    }
    Ok(())
}

/// Checks that an applied configuration names the right version and kind.
pub(crate) fn check_applied(config: &Value, api_version: &str, kind: &str) -> Result<(), Status> {
    let given = (meta::api_version(config), meta::kind(config));
    if given == (api_version, kind) {
        return Ok(());
    }
    // Like in Go, a malformed version is read as empty, and then the kind is ignored.
    let (version, kind) = if given.0.matches('/').count() > 1 { ("", "") } else { given };
    let (group, version) = meta::group_version(version);
    Err(Status::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")))
}
