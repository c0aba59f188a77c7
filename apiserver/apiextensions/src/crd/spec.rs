//! Validation of a whole CustomResourceDefinition.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::MAX_VERSIONS;
use machinery::names::dns1035_label;
use machinery::pattern;
use serde_json::Value;

use super::errors::{invalid, required, unsupported};
use super::read::{list, text};
use super::{conversion, names, versions};

/// Validates a CustomResourceDefinition at creation. Of its `metadata`, it validates only the rules of this kind.
pub fn validate(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(object, "/metadata/name");
    let wanted = format!("{}.{}", text(object, "/spec/names/plural"), text(object, "/spec/group"));
    // A missing name is reported for all kinds elsewhere.
    for (field, name) in
        [("metadata.generateName", text(object, "/metadata/generateName")), ("metadata.name", name)]
    {
        if !name.is_empty() && name != wanted {
            errors.push(invalid(field, &name.into(), "must be spec.names.plural+\".\"+spec.group"));
        }
    }
    errors.extend(names::group(text(object, "/spec/group")));
    errors.extend(pattern::limited(|| spec(object, None)));
    errors.extend(names::validate(
        object.pointer("/status/acceptedNames").unwrap_or(&Value::Null),
        "status.acceptedNames",
    ));
    errors.extend(stored_versions(object));
    errors.extend(names::approval(object));
    errors.extend(preserves(object));
    errors
}

/// Refuses `spec.preserveUnknownFields`, which only definitions from before v1 may have.
fn preserves(object: &Value) -> Option<FieldError> {
    let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                  spec.versions[*].schema instead";
    let set = object.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    set.then(|| invalid("spec.preserveUnknownFields", &true.into(), detail))
}

/// Validates an update. Fields that identify the resource are immutable.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut immutable = |pointer: &str, field: &str| {
        let value = new.pointer(pointer).unwrap_or(&Value::Null);
        if value != old.pointer(pointer).unwrap_or(&Value::Null) {
            errors.push(invalid(field, value, "field is immutable"));
        }
    };
    immutable("/spec/group", "spec.group");
    immutable("/spec/names/plural", "spec.names.plural");
    if super::is_established(old) {
        immutable("/spec/scope", "spec.scope");
        immutable("/spec/names/kind", "spec.names.kind");
    }
    errors.extend(pattern::limited(|| spec(new, Some(old))));
    errors.extend(stored_versions(new));
    if preserves(old).is_none() {
        errors.extend(preserves(new));
    }
    if names::approval(old).is_empty() {
        errors.extend(names::approval(new));
    }
    errors
}

/// Validates an update through `/status`, which leaves the spec unchanged. The stored versions are not validated,
/// because the client that writes them has migrated the stored objects.
pub fn validate_status_update(new: &Value) -> Vec<FieldError> {
    names::validate(new.pointer("/status/acceptedNames").unwrap_or(&Value::Null), "status.acceptedNames")
}

/// Refuses lists of versions that no definition has. Each version has several errors, and is compared with the others.
fn too_many_versions(spec: &Value) -> Option<FieldError> {
    let lists = [
        ("/versions", "spec.versions"),
        ("/conversion/webhook/conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"),
    ];
    let (_, field) = lists.into_iter().find(|(pointer, _)| list(spec, pointer).len() > MAX_VERSIONS)?;
    Some(FieldError::bare(FieldErrorKind::TooMany, field, format!("must have at most {MAX_VERSIONS} items")))
}

fn spec(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let versions = list(spec, "/versions");
    if let Some(error) = too_many_versions(spec) {
        return vec![error];
    }
    let mut errors = Vec::new();
    match text(spec, "/scope") {
        "" => errors.push(required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(unsupported("spec.scope", &other.into(), &["Cluster", "Namespaced"])),
    }
    for (i, version) in versions.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none_or(Value::is_null) {
            errors.push(required(format!("spec.versions[{i}].schema.openAPIV3Schema"), ""));
        }
        let name = text(version, "/name");
        let problems = dns1035_label(name);
        if !problems.is_empty() {
            errors.push(invalid(format!("spec.versions[{i}].name"), &name.into(), problems.join(",")));
            if i == 0 && !name.is_empty() {
                errors.push(invalid("spec.version", &name.into(), problems.join(",")));
            }
        }
        if let Some(warning) = version.get("deprecationWarning").filter(|warning| warning.is_string()) {
            let deprecated = version.get("deprecated") == Some(&Value::Bool(true));
            for detail in versions::warning_problems(deprecated, warning.as_str().unwrap_or_default()) {
                let mut error = invalid(format!("spec.versions[{i}].deprecationWarning"), warning, detail);
                // The field is a pointer in Go, so the error shows it as JSON.
                error.value = Some(warning.to_string());
                errors.push(error);
            }
        }
    }
    errors.extend(versions::version_set(versions, spec.get("versions").is_none_or(Value::is_null)));
    let names = spec.get("names").unwrap_or(&Value::Null);
    errors.extend(names::missing(names, "spec.names"));
    errors.extend(names::validate(names, "spec.names"));
    errors.extend(versions::parts(versions, old.map_or(&[], |old| list(old, "/spec/versions"))));
    errors.extend(conversion::validate(spec.get("conversion").unwrap_or(&Value::Null)));
    errors
}

fn stored_versions(object: &Value) -> Vec<FieldError> {
    let field = "status.storedVersions";
    let stored = object.pointer("/status/storedVersions").unwrap_or(&Value::Null);
    let versions = list(object, "/spec/versions");
    if stored.as_array().is_none_or(Vec::is_empty) {
        return vec![invalid(field, stored, "must have at least one stored version")];
    }
    let has = |name: &str| list(object, "/status/storedVersions").iter().any(|found| found == name);
    let mut errors = Vec::new();
    for version in versions {
        let name = text(version, "/name");
        if version.get("storage") == Some(&Value::Bool(true)) && !has(name) {
            errors.push(invalid(field, stored, format!("must have the storage version {name}")));
        }
    }
    for (i, name) in list(object, "/status/storedVersions").iter().enumerate() {
        if !versions.iter().any(|version| version.get("name") == Some(name)) {
            let shown = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {shown} was previously a storage version, and must remain in spec.versions until a \
                 storage migration ensures no data remains persisted in {shown} and removes {shown} from status.storedVersions"
            );
            errors.push(invalid(format!("{field}[{i}]"), name, detail));
        }
    }
    errors
}
