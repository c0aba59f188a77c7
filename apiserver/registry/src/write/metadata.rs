//! Validation of `metadata`, for all kinds.

use std::collections::{BTreeSet, HashSet};

use kinds::strategy::Strategy;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::{meta, names};
use serde_json::{Map, Value};

/// Maximum total size of the annotations of one object, keys and values, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

fn error(kind: FieldErrorKind, field: &str, detail: impl Into<String>) -> FieldError {
    FieldError::bare(kind, field, detail)
}

fn invalid(field: &str, value: impl Into<Value>, detail: impl Into<String>) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, &value.into(), detail)
}

/// Validates the metadata of an object of any kind.
pub(crate) fn validate(object: &Value, namespaced: bool, strategy: &dyn Strategy) -> Vec<FieldError> {
    let empty = Map::new();
    let metadata = object["metadata"].as_object().unwrap_or(&empty);
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut errors = Vec::new();
    let generate = text("generateName");
    if !generate.is_empty() {
        let problems = strategy.check_name(generate, true);
        errors
            .extend(problems.into_iter().map(|problem| invalid("metadata.generateName", generate, problem)));
    }
    let name = text("name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(error(FieldErrorKind::Required, "metadata.name", detail));
    } else {
        let problems = strategy.check_name(name, false);
        errors.extend(problems.into_iter().map(|problem| invalid("metadata.name", name, problem)));
    }
    let namespace = text("namespace");
    if namespaced {
        if namespace.is_empty() {
            errors.push(error(FieldErrorKind::Required, "metadata.namespace", ""));
        } else {
            let problems = names::dns1123_label(namespace);
            errors.extend(
                problems.into_iter().map(|problem| invalid("metadata.namespace", namespace, problem)),
            );
        }
    } else if !namespace.is_empty() {
        let detail = "not allowed on this type";
        errors.push(error(FieldErrorKind::Forbidden, "metadata.namespace", detail));
    }
    if metadata.get("generation").and_then(Value::as_i64).is_some_and(|generation| generation < 0) {
        let value = metadata.get("generation").cloned().unwrap_or_default();
        errors.push(invalid("metadata.generation", value, "must be greater than or equal to 0"));
    }
    errors.extend(validate_content(object));
    finalizers(object, strategy, &mut errors);
    errors
}

fn labels(metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    for (key, value) in metadata.get("labels").and_then(Value::as_object).into_iter().flatten() {
        for problem in names::qualified_name(key) {
            errors.push(invalid("metadata.labels", key.as_str(), problem));
        }
        let value = value.as_str().unwrap_or_default();
        for problem in names::label_value(value) {
            errors.push(invalid("metadata.labels", value, problem));
        }
    }
}

fn annotations(metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) else { return };
    let mut size = 0;
    for (key, value) in annotations {
        // Keys of annotations are validated in lower case.
        for problem in names::qualified_name(&key.to_lowercase()) {
            errors.push(invalid("metadata.annotations", key.as_str(), problem));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        let detail = format!("may not be more than {MAX_ANNOTATIONS} bytes");
        errors.push(error(FieldErrorKind::TooLong, "metadata.annotations", detail));
    }
}

fn owners(object: &Value, errors: &mut Vec<FieldError>) {
    const PATH: &str = "metadata.ownerReferences";
    let owners = meta::owner_references(object);
    for owner in owners {
        let text = |key: &str| owner[key].as_str().unwrap_or_default();
        let api_version = text("apiVersion");
        let (group, version) = match api_version.split_once('/') {
            Some((_, version)) if version.contains('/') => ("", ""),
            Some(parts) => parts,
            None => ("", api_version),
        };
        if version.is_empty() {
            errors.push(invalid(&format!("{PATH}.apiVersion"), api_version, "version must not be empty"));
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                errors.push(invalid(&format!("{PATH}.{key}"), "", "must not be empty"));
            }
        }
        if matches!((group, version, text("kind")), ("", "v1", "Event")) {
            let detail =
                format!("{group}/{version}, Kind={} is disallowed from being an owner", text("kind"));
            errors.push(shown(owner_in_order(owner), detail));
        }
    }
    let mut controller: Option<&Value> = None;
    for owner in owners.iter().filter(|owner| owner["controller"] == true) {
        if let Some(first) = controller {
            let show = |owner: &Value| {
                format!("{}/{}", owner["kind"].as_str().unwrap_or(""), owner["name"].as_str().unwrap_or(""))
            };
            let detail = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                show(first),
                show(owner)
            );
            let all: Vec<String> = owners.iter().map(owner_in_order).collect();
            errors.push(shown(format!("[{}]", all.join(",")), detail));
        }
        controller = Some(owner);
    }
}

/// Returns the JSON text with the fields in the order of the Go type.
fn owner_in_order(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let fields =
        fields.iter().filter(|key| !owner[**key].is_null()).map(|key| format!("\"{key}\":{}", owner[*key]));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn shown(value: String, detail: String) -> FieldError {
    let mut error = FieldError::bare(FieldErrorKind::Invalid, "metadata.ownerReferences", detail);
    error.value = Some(value);
    error
}

fn finalizers(object: &Value, strategy: &dyn Strategy, errors: &mut Vec<FieldError>) {
    const PATH: &str = "metadata.finalizers";
    let all: Vec<&str> = meta::finalizers(object).collect();
    for finalizer in &all {
        for problem in names::qualified_name(finalizer) {
            errors.push(invalid(PATH, *finalizer, problem));
        }
    }
    if strategy.qualified_finalizers() {
        unqualified_finalizers(object, errors);
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(invalid(PATH, all, detail));
    }
}

/// Reports finalizers that are neither standard nor qualified with a domain.
pub(crate) fn unqualified_finalizers(object: &Value, errors: &mut Vec<FieldError>) {
    for (index, finalizer) in meta::finalizers(object).enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(invalid(&format!("metadata.finalizers[{index}]"), finalizer, detail));
        }
    }
}

/// Validates a change of the metadata.
pub(crate) fn validate_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if meta::is_deleting(old) {
        let before: BTreeSet<&str> = meta::finalizers(old).collect();
        let new: BTreeSet<&str> = meta::finalizers(object).filter(|name| !before.contains(name)).collect();
        if !new.is_empty() {
            let list: Vec<String> = new.iter().map(|name| format!("{name:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            errors.push(error(FieldErrorKind::Forbidden, "metadata.finalizers", detail));
        }
    }
    for key in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        let (now, before) = (&object["metadata"][key], &old["metadata"][key]);
        if now != before {
            errors.push(invalid(&format!("metadata.{key}"), now.clone(), "field is immutable"));
        }
    }
    let (now, before) = (meta::generation(object), meta::generation(old));
    if now < before {
        errors.push(invalid("metadata.generation", now, "must not be decremented"));
    }
    errors.extend(validate_content(object));
    errors
}

/// Validates the labels or annotations that a conversion webhook changed.
pub(crate) fn check_converted(key: &str, map: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let metadata = Map::from_iter([(key.to_owned(), map.clone())]);
    labels(&metadata, &mut errors);
    annotations(&metadata, &mut errors);
    errors
}

/// Validates labels, annotations and owner references.
pub(crate) fn validate_content(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Map::new();
    let metadata = object["metadata"].as_object().unwrap_or(&empty);
    labels(metadata, &mut errors);
    annotations(metadata, &mut errors);
    owners(object, &mut errors);
    errors
}

/// Returns warnings about discouraged metadata that is not in `old`.
pub(crate) fn warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let before: BTreeSet<&str> = old.into_iter().flat_map(meta::finalizers).collect();
    meta::finalizers(object)
        .filter(|name| !name.contains('/') && !STANDARD_FINALIZERS.contains(name) && !before.contains(name))
        .map(|name| {
            let path = if name.contains('.') { " including a path (/)" } else { "" };
            format!(
                "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// Removes owner references of a body that are equal to an earlier one, and returns the warning about them.
pub(crate) fn dedup_owners(object: &mut Value) -> Option<String> {
    dedup_owners_found(object, "")
}

/// Like [`dedup_owners`], for the object after the webhooks.
pub(crate) fn dedup_owners_after_admission(object: &mut Value) -> Option<String> {
    dedup_owners_found(object, " after mutating admission happens")
}

fn dedup_owners_found(object: &mut Value, when: &str) -> Option<String> {
    let owners = object.get_mut("metadata")?.get_mut("ownerReferences")?.as_array_mut()?;
    let mut seen = HashSet::new();
    let mut repeated: Vec<String> = Vec::new();
    let mut repeated_once = HashSet::new();
    owners.retain(|owner| {
        let first = seen.insert(owner.clone());
        let uid = owner["uid"].as_str().unwrap_or_default();
        if !first && repeated_once.insert(uid.to_owned()) {
            repeated.push(uid.to_owned());
        }
        first
    });
    if repeated.is_empty() {
        return None;
    }
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        repeated.join(", ")
    ))
}
