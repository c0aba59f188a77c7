//! Validation of the keywords of a schema, apart from the rules of structural schemas.

use std::collections::BTreeSet;

use machinery::field::FieldError;
use serde_json::{Map, Value};

use super::errors::{forbidden, invalid, required, unsupported};
use super::read::{list, text};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The logical junctors, whose values are schemas: the keyword, and whether its value is a list.
pub(super) const JUNCTORS: [(&str, bool); 4] =
    [("allOf", true), ("anyOf", true), ("oneOf", true), ("not", false)];

/// Validates the schema of a whole object.
pub(super) fn validate_root(source: &Value, path: &str, status: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(map) = source.as_object().filter(|_| status) {
        root_with_status(map, path, &mut errors);
    }
    if source.get("nullable") == Some(&Value::Bool(true)) {
        errors.push(forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    validate(source, path, Within { root: true, ..Within::default() }, &mut errors);
    errors
}

/// Validates the schema of a value inside an object.
pub(super) fn validate_value(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    validate(source, path, Within::default(), &mut errors);
    errors
}

/// The context of a schema. Fields that every object has cannot have defaults.
#[derive(Clone, Copy, Default)]
struct Within {
    root: bool,
    /// Whether the schema is in `metadata`, `kind` or `apiVersion` of the object or of an embedded resource.
    meta: bool,
    /// The reason why schemas here cannot have a default.
    no_default: Option<&'static str>,
}

impl Within {
    fn property(self, source: &Value, name: &str) -> Self {
        let embedded = source.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
        let of_all = match name {
            "metadata" => "in top-level metadata",
            "kind" => "in top-level kind",
            "apiVersion" => "in top-level apiVersion",
            _ => return Self { root: false, ..self },
        };
        if self.root {
            Self { root: false, meta: true, no_default: Some(of_all) }
        } else {
            Self { root: false, meta: self.meta || embedded, ..self }
        }
    }

    fn additional(self) -> Self {
        let why = "inside additionalProperties applying to object metadata";
        Self { root: false, no_default: if self.meta { Some(why) } else { self.no_default }, ..self }
    }
}

/// Restricts the keywords at the root, because with a status subresource the status is validated separately.
fn root_with_status(map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    const ALLOWED: [&str; 11] = [
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
    ];
    const MORE: [&str; 11] = [
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "enum",
        "items",
        "properties",
        "default",
        "externalDocs",
        "example",
    ];
    for key in map.keys() {
        let known = ALLOWED.contains(&key.as_str())
            || MORE.contains(&key.as_str())
            || key.starts_with("x-kubernetes-");
        if !known && key != "nullable" {
            let names = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                         MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties \
                         ExternalDocs Example XPreserveUnknownFields XValidations]";
            let detail = format!(
                "only {names} fields are allowed at the root of the schema if the status subresource is enabled"
            );
            errors.push(invalid(path, &Value::Object(map.clone()), detail));
            return;
        }
    }
}

/// Returns whether the schema can be converted to a structural schema. Otherwise the errors of the keywords are
/// sufficient.
pub(super) fn is_convertible(source: &Value) -> bool {
    const UNSUPPORTED: [&str; 6] =
        ["$ref", "id", "additionalItems", "patternProperties", "definitions", "dependencies"];
    let Some(map) = source.as_object() else { return false };
    if UNSUPPORTED.iter().any(|key| map.get(*key).is_some_and(|value| !value.is_null()))
        || map.get("items").is_some_and(Value::is_array)
        || map.get("uniqueItems") == Some(&Value::Bool(true))
        || text(source, "/type") == "null"
    {
        return false;
    }
    let mut below = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let additional = map.get("additionalProperties");
    let both = additional.is_some_and(Value::is_object)
        && map.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    !both
        && below.all(is_convertible)
        && ["items", "additionalProperties"]
            .iter()
            .filter_map(|key| map.get(*key))
            .filter(|value| value.is_object())
            .all(is_convertible)
}

fn validate(source: &Value, path: &str, within: Within, errors: &mut Vec<FieldError>) {
    let Some(map) = source.as_object() else { return };
    if let (Some(why), true) = (within.no_default, map.get("default").is_some_and(|value| !value.is_null())) {
        errors.push(forbidden(format!("{path}.default"), format!("must not be set {why}")));
    }
    let below_here = Within { root: false, ..within };
    plain_keywords(source, map, path, errors);
    let properties = map.get("properties").and_then(Value::as_object);
    match map.get("additionalProperties") {
        Some(Value::Bool(true) | Value::Null) | None => {}
        Some(additional) => {
            if properties.is_some_and(|map| !map.is_empty()) {
                let detail = "additionalProperties and properties are mutual exclusive";
                errors.push(forbidden(format!("{path}.additionalProperties"), detail));
            }
            validate(additional, &format!("{path}.additionalProperties"), within.additional(), errors);
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        validate(property, &format!("{path}.properties[{name}]"), within.property(source, name), errors);
    }
    for (keyword, many) in JUNCTORS {
        let Some(below) = map.get(keyword) else { continue };
        if !many {
            validate(below, &format!("{path}.{keyword}"), below_here, errors);
        }
        for (i, child) in below.as_array().into_iter().flatten().enumerate() {
            validate(child, &format!("{path}.{keyword}[{i}]"), below_here, errors);
        }
    }
    if let Some(items) = map.get("items") {
        validate(items, &format!("{path}.items"), below_here, errors);
    }
    extensions(source, map, path, errors);
}

fn plain_keywords(source: &Value, map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for key in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let present = map.get(key).is_some_and(|value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Object(map) => !map.is_empty() || key == "additionalItems",
            _ => true,
        });
        if present {
            errors.push(forbidden(format!("{path}.{key}"), format!("{key} is not supported")));
        }
    }
    let kind = text(source, "/type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(unsupported(format!("{path}.type"), &kind.into(), &TYPES));
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(forbidden(format!("{path}.type"), detail));
    }
    if map.get("items").is_some_and(Value::is_array) {
        errors.push(forbidden(format!("{path}.items"), "items must be a schema object and not an array"));
    }
    if map.get("uniqueItems") == Some(&Value::Bool(true)) {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(forbidden(format!("{path}.uniqueItems"), detail));
    }
    let pattern = text(source, "/pattern");
    if let Some(why) = machinery::pattern::problem(pattern) {
        let detail = format!("must be a valid regular expression, but isn't: error parsing regexp: {why}");
        errors.push(invalid(format!("{path}.pattern"), &pattern.into(), detail));
    }
}

fn extensions(source: &Value, map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(invalid(field, &false.into(), "must be true or undefined"));
    }
    let kind = text(source, "/type");
    let typed = |key: &str, wanted: &str, allowed: &[&str], errors: &mut Vec<FieldError>| {
        let Some(found) = map.get(key).and_then(Value::as_str) else { return };
        if kind != wanted {
            let detail = format!("must be {wanted} if {key} is specified");
            let field = format!("{path}.type");
            errors.push(if kind.is_empty() {
                required(field, detail)
            } else {
                invalid(field, &kind.into(), detail)
            });
        } else if key == "x-kubernetes-list-type" && found == "set" {
            errors.extend(set_items(source, path));
        }
        if !allowed.contains(&found) {
            errors.push(unsupported(format!("{path}.{key}"), &found.into(), allowed));
        }
    };
    typed("x-kubernetes-map-type", "object", &["atomic", "granular"], errors);
    typed("x-kubernetes-list-type", "array", &["atomic", "set", "map"], errors);
    list_map(source, map, path, errors);
}

fn set_items(source: &Value, path: &str) -> Option<FieldError> {
    let items = source.get("items")?;
    let (key, atomic_by_default) = match text(items, "/type") {
        "array" => ("x-kubernetes-list-type", true),
        "object" => ("x-kubernetes-map-type", false),
        _ => return None,
    };
    let found = items.get(key).unwrap_or(&Value::Null);
    let atomic = found == "atomic" || (atomic_by_default && found.is_null());
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    (!atomic).then(|| invalid(format!("{path}.items.{key}"), found, detail))
}

fn list_map(source: &Value, map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    let keys = list(source, "/x-kubernetes-list-map-keys");
    let list_type = map.get("x-kubernetes-list-type").and_then(Value::as_str);
    let type_path = format!("{path}.x-kubernetes-list-type");
    let keys_path = format!("{path}.x-kubernetes-list-map-keys");
    let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    match list_type {
        None if !keys.is_empty() => errors.push(required(type_path, detail)),
        Some(other) if !keys.is_empty() && other != "map" => {
            errors.push(invalid(type_path, &other.into(), detail))
        }
        _ => {}
    }
    let Some(list_type) = list_type.filter(|kind| matches!(*kind, "map" | "set")) else { return };
    let items = map.get("items").filter(|items| items.is_object());
    if list_type == "map" {
        if keys.is_empty() {
            errors.push(required(keys_path.clone(), "must not be empty if x-kubernetes-list-type is map"));
        }
        let Some(items) = items else {
            errors.push(required(
                format!("{path}.items"),
                "must have a schema if x-kubernetes-list-type is map",
            ));
            return;
        };
        map_items(items, keys, path, &keys_path, errors);
    }
    let Some(items) = items else { return };
    if items.get("nullable") == Some(&Value::Bool(true)) {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(forbidden(format!("{path}.items.nullable"), detail));
    }
    if list_type == "map" {
        key_presence(items, keys, path, errors);
    }
}

fn map_items(items: &Value, keys: &[Value], path: &str, keys_path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(items, "/type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(invalid(format!("{path}.items.type"), &kind.into(), detail));
        return;
    }
    let shown = Value::Array(keys.to_vec());
    let mut seen = BTreeSet::new();
    for key in keys.iter().filter_map(Value::as_str) {
        match items.get("properties").and_then(|map| map.get(key)) {
            Some(property) if matches!(text(property, "/type"), "array" | "object") => {
                let field = format!("{path}.items.properties[{key}].type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(invalid(field, &kind.into(), detail));
            }
            Some(_) => {}
            None => errors.push(invalid(keys_path, &shown, "entries must all be names of item properties")),
        }
        if !seen.insert(key) {
            errors.push(invalid(keys_path, &shown, "must not contain duplicate entries"));
        }
    }
}

fn key_presence(items: &Value, keys: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    for key in keys.iter().filter_map(Value::as_str) {
        let Some(property) = items.get("properties").and_then(|map| map.get(key)) else { continue };
        let field = format!("{path}.items.properties[{key}]");
        let is_required = list(items, "/required").iter().any(|name| name == key);
        if !is_required && property.get("default").is_none_or(Value::is_null) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(required(format!("{field}.default"), detail));
        }
        if property.get("nullable") == Some(&Value::Bool(true)) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(forbidden(format!("{field}.nullable"), detail));
        }
    }
}
