//! The rules of structural schemas: each value has a type, and logical junctors only restrict values.

use machinery::field::FieldError;
use serde_json::{Map, Value};

use super::errors::{forbidden, invalid, required};
use super::keywords::JUNCTORS;
use super::read::{list, text};

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Field,
    Item,
}

/// Returns the violations of a schema that is not structural, sorted.
pub(super) fn validate(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(source, Level::Root, path, &mut errors);
    complete(source, Some(source), path, path, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

/// Like [`validate`], for the schema of a value inside an object.
pub(super) fn validate_value(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(source, Level::Field, path, &mut errors);
    complete(source, Some(source), path, path, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

/// Requires that fields that junctors of the root name are also specified outside of them. `specified` is the schema at
/// `at`, and the junctors are at `path`.
fn complete(source: &Value, specified: Option<&Value>, at: &str, path: &str, errors: &mut Vec<FieldError>) {
    for (keyword, many) in JUNCTORS {
        match source.get(keyword) {
            Some(below) if !many => named(below, specified, at, &format!("{path}.{keyword}"), errors),
            Some(Value::Array(below)) => {
                for (i, child) in below.iter().enumerate() {
                    named(child, specified, at, &format!("{path}.{keyword}[{i}]"), errors);
                }
            }
            _ => {}
        }
    }
}

fn named(source: &Value, specified: Option<&Value>, at: &str, path: &str, errors: &mut Vec<FieldError>) {
    if !source.is_object() {
        return;
    }
    let Some(specified) = specified.filter(|specified| specified.is_object()) else {
        errors.push(required(at, format!("because it is defined in {path}")));
        return;
    };
    complete(source, Some(specified), at, path, errors);
    if let Some(items) = source.get("items") {
        let (at, path) = (format!("{at}.items"), format!("{path}.items"));
        named(items, specified.get("items"), &at, &path, errors);
    }
    for (name, property) in source.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let outside = specified.get("properties").and_then(|map| map.get(name));
        let (at, path) = (format!("{at}.properties[{name}]"), format!("{path}.properties[{name}]"));
        named(property, outside, &at, &path, errors);
    }
}

fn flag(source: &Value, key: &str) -> bool {
    source.get(key) == Some(&Value::Bool(true))
}

fn invariants(source: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let Some(map) = source.as_object() else { return };
    let kind = text(source, "/type");
    let int_or_string = flag(source, "x-kubernetes-int-or-string");
    let preserve = flag(source, "x-kubernetes-preserve-unknown-fields");
    let embedded = flag(source, "x-kubernetes-embedded-resource");
    children(source, map, level, path, errors);
    for (key, set) in
        [("x-kubernetes-preserve-unknown-fields", preserve), ("x-kubernetes-embedded-resource", embedded)]
    {
        if int_or_string && set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(invalid(format!("{path}.{key}"), &true.into(), detail));
        }
    }
    let skip =
        IntOrString { any_of: int_or_string && is_pattern(list(source, "/anyOf")), all_of: int_or_string };
    junctors(source, skip, path, errors);
    let type_path = || format!("{path}.type");
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            required(type_path(), detail)
        } else {
            invalid(type_path(), &kind.into(), detail)
        });
    } else if kind.is_empty() && !int_or_string && !preserve {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(required(type_path(), detail));
    }
    if embedded && source.get("additionalProperties").is_some_and(|value| !value.is_null()) {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(forbidden(format!("{path}.additionalProperties"), detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(invalid(type_path(), &kind.into(), "must be object at the root"));
    }
    meta_fields(source, level, embedded, path, errors);
    let empty = source.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    if embedded && !preserve && empty {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(required(format!("{path}.properties"), detail));
    }
}

fn children(
    source: &Value,
    map: &Map<String, Value>,
    level: Level,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    match map.get("items").filter(|items| items.is_object()) {
        Some(items) => invariants(items, Level::Item, &format!("{path}.items"), errors),
        None if text(source, "/type") == "array" => {
            errors.push(required(format!("{path}.items"), "must be specified"));
        }
        None => {}
    }
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        // The metadata of the object is validated as a whole.
        if level == Level::Root && name == "metadata" {
            continue;
        }
        invariants(property, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    let Some(additional) = map.get("additionalProperties").filter(|value| !value.is_null()) else { return };
    let path = format!("{path}.additionalProperties");
    if level == Level::Root && *additional != Value::Bool(false) {
        errors.push(forbidden(path.clone(), "must not be used at the root"));
    }
    invariants(additional, Level::Field, &path, errors);
}

fn meta_fields(source: &Value, level: Level, embedded: bool, path: &str, errors: &mut Vec<FieldError>) {
    if level != Level::Root && !embedded {
        return;
    }
    let property = |name: &str| source.get("properties").and_then(|map| map.get(name));
    for name in ["kind", "apiVersion"] {
        if let Some(found) =
            property(name).map(|schema| text(schema, "/type")).filter(|kind| *kind != "string")
        {
            let field = format!("{path}.properties[{name}].type");
            errors.push(invalid(field, &found.into(), "must be string"));
        }
    }
    let Some(metadata) = property("metadata") else { return };
    let path = format!("{path}.properties[metadata]");
    let kind = text(metadata, "/type");
    if kind != "object" {
        errors.push(invalid(format!("{path}.type"), &kind.into(), "must be object"));
    }
    let only_names = metadata.as_object().is_none_or(|map| {
        map.iter().all(|(key, value)| match key.as_str() {
            "type" | "default" => true,
            "properties" => value
                .as_object()
                .is_none_or(|map| map.keys().all(|key| key == "name" || key == "generateName")),
            // Keywords with empty values do not count.
            _ => value.is_null() || *value == Value::Bool(false) || value == "",
        })
    });
    if level == Level::Root && !only_names {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(forbidden(path, detail));
    }
}

/// The places where a schema may contain the types of int-or-string.
#[derive(Clone, Copy)]
struct IntOrString {
    any_of: bool,
    all_of: bool,
}

const NOWHERE: IntOrString = IntOrString { any_of: false, all_of: false };

/// Returns whether the list is `anyOf: [{type: integer}, {type: string}]`.
fn is_pattern(any_of: &[Value]) -> bool {
    let only = |schema: &Value, kind: &str| {
        text(schema, "/type") == kind && schema.as_object().is_some_and(|map| map.len() == 1)
    };
    matches!(any_of, [first, second] if only(first, "integer") && only(second, "string"))
}

fn junctors(source: &Value, skip: IntOrString, path: &str, errors: &mut Vec<FieldError>) {
    for (keyword, many) in JUNCTORS {
        if keyword == "anyOf" && skip.any_of {
            continue;
        }
        let Some(below) = source.get(keyword) else { continue };
        if !many {
            nested(below, NOWHERE, &format!("{path}.{keyword}"), errors);
            continue;
        }
        for (i, child) in below.as_array().into_iter().flatten().enumerate() {
            let first = keyword == "allOf" && i == 0 && skip.all_of && is_pattern(list(child, "/anyOf"));
            let skip = IntOrString { any_of: first, all_of: false };
            nested(child, skip, &format!("{path}.{keyword}[{i}]"), errors);
        }
    }
}

/// Requires that schemas below a junctor only restrict values.
fn nested(source: &Value, skip: IntOrString, path: &str, errors: &mut Vec<FieldError>) {
    const FORBIDDEN: [(&str, &str); 14] = [
        ("type", "empty"),
        ("title", "empty"),
        ("description", "empty"),
        ("default", "undefined"),
        ("additionalProperties", "undefined"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
        ("externalDocs", "undefined"),
    ];
    let Some(map) = source.as_object() else { return };
    for (key, wanted) in FORBIDDEN {
        let set = match map.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(_) => true,
        };
        if set {
            errors.push(forbidden(format!("{path}.{key}"), format!("must be {wanted} to be structural")));
        }
    }
    junctors(source, skip, path, errors);
    if let Some(items) = map.get("items") {
        nested(items, NOWHERE, &format!("{path}.items"), errors);
    }
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        if name == "metadata" {
            errors.push(forbidden(path.clone(), "must not be specified in a nested context"));
        }
        nested(property, NOWHERE, &path, errors);
    }
}
