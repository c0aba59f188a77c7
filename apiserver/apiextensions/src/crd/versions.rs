//! Validation of `spec.versions`.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::schema::Schema;
use serde_json::{Value, json};

use super::errors::invalid;
use super::read::{list, text};
use super::{defaults, json_paths, keywords, rules, structural};

/// Returns the value of a key if it is equal in all versions. The internal type has such values at the top level.
fn hoisted<'a>(versions: &'a [Value], key: &str) -> Option<&'a Value> {
    let (first, rest) = versions.split_first()?;
    let value = first.get(key);
    rest.iter().all(|version| version.get(key) == value).then_some(value).flatten()
}

/// Maximum length of `deprecationWarning`, in bytes.
const MAX_DEPRECATION_WARNING: usize = 256;

pub(super) fn warning_problems(deprecated: bool, warning: &str) -> Vec<String> {
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

pub(super) fn version_set(versions: &[Value], missing: bool) -> Vec<FieldError> {
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
pub(super) fn parts(versions: &[Value], old: &[Value]) -> Vec<FieldError> {
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
    each("subresources", &|value, _, path| json_paths::subresources(value, path));
    each("additionalPrinterColumns", &|value, _, path| {
        let columns = value.as_array().map_or(&[][..], Vec::as_slice);
        columns
            .iter()
            .enumerate()
            .flat_map(|(i, value)| json_paths::column(value, &format!("{path}[{i}]")))
            .collect()
    });
    each("selectableFields", &json_paths::selectable_fields);
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
