//! What the patch of a webhook or a policy may make of an object: it stays the object that the request names.

use kinds::definition::{Definition, Version};
use machinery::meta;
use machinery::status::Status;
use serde_json::{Map, Value};

use crate::target::Target;
use crate::verbs::scale;
use crate::versions::definitions::{Definitions, Served};

/// Checks that a patched object, which was in `version`, still has the kind of its resource and a version of it.
///
/// # Errors
/// 500 with the message of kube-apiserver, which converts the result to the kind of the request.
pub(crate) fn check_patched(
    definitions: &Definitions,
    served: &Served,
    version: &Version,
    object: &Value,
) -> Result<(), Status> {
    let definition = &served.definition;
    let (api_version, kind) = (meta::api_version(object), meta::kind(object));
    if api_version == definition.api_version(&version.name) && kind == definition.kind {
        return Ok(());
    }
    if kind.is_empty() {
        return Err(Status::internal("Object 'Kind' is missing in the object after the patch"));
    }
    if definition.built_in {
        return check_built_in(definitions, definition, api_version, kind);
    }
    // Another kind is refused by the validation of the object.
    let (group, name) = meta::group_version(api_version);
    if group != definition.group {
        let wanted = served.api_version();
        let why = "is unstructured and is not suitable for converting to";
        return Err(Status::generic(format!("{group}/{name}, Kind={kind} {why} {wanted:?}")));
    }
    match definition.version(name) {
        Some(_) => Ok(()),
        None => {
            let why = format!("request to convert CR from an invalid group/version: {api_version}");
            Err(Status::generic(why))
        }
    }
}

fn check_built_in(
    definitions: &Definitions,
    definition: &Definition,
    api_version: &str,
    kind: &str,
) -> Result<(), Status> {
    let (group, name) = meta::group_version(api_version);
    let named =
        definitions.by_kind(group, kind).filter(|named| named.built_in && named.version(name).is_some());
    match named {
        Some(named) if named.group == definition.group && named.kind == definition.kind => Ok(()),
        Some(_) => {
            // The internal types are in a package for each group.
            let package =
                definition.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
            let wanted = &definition.kind;
            Err(Status::generic(format!(
                "converting ({name}.{kind}) to ({package}.{wanted}): unknown conversion"
            )))
        }
        None => Err(Status::internal(format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        ))),
    }
}

/// Returns the object with the replicas of its patched Scale, of which nothing else is stored.
///
/// # Errors
/// 400 for another name or namespace, 500 for something else than a Scale.
pub(crate) fn rescaled(target: &Target<'_>, object: &Value, scaled: &Value) -> Result<Value, Status> {
    let (api_version, kind) = (meta::api_version(scaled), meta::kind(scaled));
    if (api_version, kind) != ("autoscaling/v1", "Scale") {
        return Err(Status::generic(format!(
            "converting ({}.{kind}) to (autoscaling.Scale): unknown conversion",
            meta::group_version(api_version).1
        )));
    }
    let namespaced = target.served.definition.namespaced;
    crate::write::identity::check_identity(namespaced, target.namespace, target.name, scaled)?;
    scale::view::with_replicas(target.served, object, scaled)
}

/// Returns why `managedFields` cannot be used, as they are after the webhooks; `None` if they can.
fn unusable_managers(fields: &Value) -> Option<String> {
    for (position, entry) in fields.as_array().into_iter().flatten().enumerate() {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            return Some("operation must be `Apply` or `Update`".to_owned());
        }
        if text("apiVersion").is_empty() {
            return Some("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Some(format!("missing fieldsType in managed fields entry {position}")),
            other => return Some(format!("invalid fieldsType {other:?} in managed fields entry {position}")),
        }
        let mut open: Vec<&Map<String, Value>> = entry["fieldsV1"].as_object().into_iter().collect();
        while let Some(fields) = open.pop() {
            let is_known = |key: &&String| {
                *key == "." || ["f:", "k:", "v:", "i:"].iter().any(|kind| key.starts_with(kind))
            };
            if let Some(key) = fields.keys().find(|key| !is_known(key)) {
                return Some(format!("missing key type in {key:?} of managed fields entry {position}"));
            }
            open.extend(fields.values().filter_map(Value::as_object));
        }
    }
    None
}

/// Restores `managedFields` as they were `before` the webhooks if these have made them unusable, and returns the warning about it.
pub(crate) fn keep_managers(before: Option<Value>, object: &mut Value) -> Option<String> {
    let now = object["metadata"].get("managedFields");
    if now == before.as_ref() {
        return None;
    }
    let why = unusable_managers(now?)?;
    let metadata = meta::metadata_mut(object)?;
    match before {
        Some(before) => metadata.insert("managedFields".to_owned(), before),
        None => metadata.remove("managedFields"),
    };
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {why}"
    ))
}
