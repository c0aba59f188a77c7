//! Validation of a whole CustomResourceDefinition.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    conversion, defaults, invalid, keywords, list, names, required, rules, structural, text, unsupported,
};
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::names::dns1035_label;
use crate::schema::{Kind, Schema, field_path, formats};

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
    errors.extend(formats::limited(|| spec(object, None)));
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
    errors.extend(formats::limited(|| spec(new, Some(old))));
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

/// Returns the value of a key if it is equal in all versions. The internal type has such values at the top level.
fn hoisted<'a>(versions: &'a [Value], key: &str) -> Option<&'a Value> {
    let (first, rest) = versions.split_first()?;
    let value = first.get(key);
    rest.iter().all(|version| version.get(key) == value).then_some(value).flatten()
}

fn spec(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let versions = list(spec, "/versions");
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
            for detail in warning_problems(deprecated, warning.as_str().unwrap_or_default()) {
                let mut error = invalid(format!("spec.versions[{i}].deprecationWarning"), warning, detail);
                // The field is a pointer in Go, so the error shows it as JSON.
                error.value = Some(warning.to_string());
                errors.push(error);
            }
        }
    }
    errors.extend(version_set(versions, spec.get("versions").is_none_or(Value::is_null)));
    let names = spec.get("names").unwrap_or(&Value::Null);
    errors.extend(names::missing(names, "spec.names"));
    errors.extend(names::validate(names, "spec.names"));
    errors.extend(parts(versions, old.map_or(&[], |old| list(old, "/spec/versions"))));
    errors.extend(conversion::validate(spec.get("conversion").unwrap_or(&Value::Null)));
    errors
}

/// Maximum length of `deprecationWarning`, in bytes.
const MAX_DEPRECATION_WARNING: usize = 256;

fn warning_problems(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut problems = Vec::new();
    if warning.len() > MAX_DEPRECATION_WARNING {
        problems.push(format!("must be <= {MAX_DEPRECATION_WARNING} characters long"));
    }
    if warning.is_empty() {
        problems.push("must not be an empty string".to_owned());
    }
    // The plain space is the only whitespace that counts as printable.
    let invisible = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let printable = |c: char| c == ' ' || !c.is_control() && !c.is_whitespace() && !invisible(c);
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| !printable(*c)) {
        problems.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    problems
}

fn version_set(versions: &[Value], missing: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let shown = || match versions {
        [] if missing => Value::Null,
        versions => Value::Array(versions.iter().map(internal_version).collect()),
    };
    let show = |detail: &str| {
        // The error shows the internal type, with its fields in the order of the Go struct.
        let value = match shown() {
            Value::Array(versions) => {
                let versions: Vec<String> =
                    versions.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                format!("[{}]", versions.join(","))
            }
            other => other.to_string(),
        };
        FieldError {
            kind: FieldErrorKind::Invalid,
            field: "spec.versions".into(),
            value: Some(value),
            detail: detail.into(),
        }
    };
    let unique: BTreeSet<&str> = versions.iter().map(|version| text(version, "/name")).collect();
    if unique.len() != versions.len() {
        errors.push(show("must contain unique version names"));
    }
    if versions.iter().filter(|version| version.get("storage") == Some(&Value::Bool(true))).count() != 1 {
        errors.push(show("must have exactly one version marked as storage version"));
    }
    errors
}

fn internal_version(version: &Value) -> Value {
    let flag = |key: &str| version.get(key) == Some(&Value::Bool(true));
    let name = json!(text(version, "/name"));
    let warning = version.get("deprecationWarning").unwrap_or(&Value::Null);
    Value::String(format!(
        "{{\"Name\":{name},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{warning},\
         \"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
        flag("served"),
        flag("storage"),
        flag("deprecated"),
    ))
}

/// Validates schemas, subresources, columns and selectable fields. Errors have paths at the top level for values that
/// are equal in all versions.
fn parts(versions: &[Value], old: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let unchanged = |version: &Value| {
        let before = old.iter().find(|before| before.get("name") == version.get("name"));
        before.is_some_and(|before| before.get("schema") == version.get("schema"))
    };
    let any_status =
        versions.iter().any(|version| version.pointer("/subresources/status").is_some_and(Value::is_object));
    match hoisted(versions, "schema") {
        Some(schema) => {
            let unchanged = versions.iter().all(unchanged);
            errors.extend(schema_of(schema, "spec.validation", any_status, unchanged));
        }
        None => {
            for (i, version) in versions.iter().enumerate() {
                let status = version.pointer("/subresources/status").is_some_and(Value::is_object);
                let Some(schema) = version.get("schema") else { continue };
                let path = format!("spec.versions[{i}].schema");
                errors.extend(schema_of(schema, &path, status, unchanged(version)));
            }
        }
    }
    let mut each =
        |key: &str, check: &dyn Fn(&Value, &Value, &str) -> Vec<FieldError>| match hoisted(versions, key) {
            Some(value) => errors.extend(check(value, &versions[0], &format!("spec.{key}"))),
            None => {
                for (i, version) in versions.iter().enumerate() {
                    let Some(value) = version.get(key) else { continue };
                    errors.extend(check(value, version, &format!("spec.versions[{i}].{key}")));
                }
            }
        };
    each("subresources", &|value, _, path| subresources(value, path));
    each("additionalPrinterColumns", &|value, _, path| {
        let columns = value.as_array().map_or(&[][..], Vec::as_slice);
        columns.iter().enumerate().flat_map(|(i, value)| column(value, &format!("{path}[{i}]"))).collect()
    });
    each("selectableFields", &selectable_fields);
    // A schema that all versions share is at the top level of the internal type, so its versions have no schema.
    if hoisted(versions, "schema").is_some() && hoisted(versions, "selectableFields").is_none() {
        let has = |version: &Value| !list(version, "/selectableFields").is_empty();
        errors.retain(|error| !error.field.contains("].selectableFields"));
        for (i, _) in versions.iter().enumerate().filter(|(_, version)| has(version)) {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(invalid(format!("spec.versions[{i}].selectableFields"), &"".into(), detail));
        }
    }
    errors
}

/// Validates the schema of a version. `unchanged` is true if it equals the stored schema.
fn schema_of(schema: &Value, path: &str, status: bool, unchanged: bool) -> Vec<FieldError> {
    let Some(source) = schema.get("openAPIV3Schema").filter(|source| !source.is_null()) else {
        return Vec::new();
    };
    let path = format!("{path}.openAPIV3Schema");
    let mut errors = keywords::validate_root(source, &path, status);
    let simple = errors.is_empty();
    match Schema::parse(source) {
        Ok(parsed) => {
            if simple {
                errors.extend(rules::validate(&parsed, source, &path, unchanged));
            }
            if !keywords::is_convertible(source) {
                return errors;
            }
            let found = structural::validate(source, &path);
            if found.is_empty() {
                let misplaced =
                    errors.iter().any(|error| error.detail.starts_with("must not be set in top-level"));
                if !misplaced {
                    errors.extend(defaults::validate(&parsed, &path));
                }
            } else {
                errors.extend(found);
            }
        }
        // The errors of the keywords have better messages than the parser.
        Err(problem) if simple => errors.push(invalid(path, &"".into(), problem.to_string())),
        Err(_) if keywords::is_convertible(source) => errors.extend(structural::validate(source, &path)),
        Err(_) => {}
    }
    errors
}

fn simple_path(path: &str, field: &str) -> Option<FieldError> {
    if path.is_empty() {
        Some(invalid(field, &path.into(), "must not be empty"))
    } else if !path.starts_with('.') {
        Some(invalid(field, &path.into(), "must be a simple json path starting with ."))
    } else {
        None
    }
}

fn subresources(value: &Value, path: &str) -> Vec<FieldError> {
    let Some(scale) = value.get("scale").filter(|scale| scale.is_object()) else { return Vec::new() };
    let mut errors = Vec::new();
    let mut check = |key: &str, roots: &[&str], words: &str, optional: bool| {
        let field = format!("{path}.scale.{key}");
        let found = scale.get(key).and_then(Value::as_str).unwrap_or_default();
        if found.is_empty() {
            if !optional {
                errors.push(required(field, ""));
            }
        } else if let Some(error) = simple_path(found, &field) {
            errors.push(error);
        } else if !roots.iter().any(|root| found.starts_with(root)) {
            errors.push(invalid(field, &found.into(), format!("should be a json path under {words}")));
        }
    };
    check("specReplicasPath", &[".spec."], ".spec", false);
    check("statusReplicasPath", &[".status."], ".status", false);
    check("labelSelectorPath", &[".spec.", ".status."], "either .spec or .status", true);
    errors
}

fn column(column: &Value, path: &str) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut errors = Vec::new();
    if text(column, "/name").is_empty() {
        errors.push(required(format!("{path}.name"), ""));
    }
    let types = format!("must be one of {}", TYPES.join(","));
    match text(column, "/type") {
        "" => errors.push(required(format!("{path}.type"), types)),
        kind if !TYPES.contains(&kind) => errors.push(invalid(format!("{path}.type"), &kind.into(), types)),
        _ => {}
    }
    let format = text(column, "/format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let detail = format!("must be one of {}", FORMATS.join(","));
        errors.push(invalid(format!("{path}.format"), &format.into(), detail));
    }
    let field = format!("{path}.JSONPath");
    match text(column, "/jsonPath") {
        "" => errors.push(required(field, "")),
        json_path => errors.extend(simple_path(json_path, &field)),
    }
    errors
}

/// Maximum number of selectable fields.
const MAX_SELECTABLE_FIELDS: usize = 8;

fn selectable_fields(value: &Value, version: &Value, path: &str) -> Vec<FieldError> {
    let fields = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    let schema = version.pointer("/schema/openAPIV3Schema").and_then(|source| Schema::parse(source).ok());
    for (i, field) in fields.iter().enumerate() {
        let at = format!("{path}[{i}].jsonPath");
        let json_path = text(field, "/jsonPath");
        if json_path.is_empty() {
            errors.push(required(at, ""));
            continue;
        }
        let Some(schema) = &schema else { continue };
        let (found, schema) = match field_path::find(schema, json_path, false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(invalid(at, &json_path.into(), format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.split(['.', '[']).next() == Some("metadata") {
            errors.push(invalid(at.clone(), &json_path.into(), "must not point to fields in metadata"));
        }
        if !matches!(schema.kind, Some(Kind::String | Kind::Boolean | Kind::Integer)) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(invalid(at.clone(), &json_path.into(), why));
        }
        if !seen.insert(found) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, at, &json_path.into(), ""));
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        let detail = format!("must have at most {MAX_SELECTABLE_FIELDS} items");
        errors.push(FieldError::new(FieldErrorKind::TooMany, path, &seen.len().into(), detail));
    }
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
