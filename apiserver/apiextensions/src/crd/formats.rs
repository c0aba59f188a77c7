//! Formats that a schema names and the server does not know. They have no effect, and the client gets a warning.

use machinery::schema::Kind;
use machinery::schema::formats::is_known;
use serde_json::{Map, Value};

use super::keywords::JUNCTORS;
use super::read::{list, text};

/// Returns a warning for each unknown format in the schemas that `old` does not have.
pub fn format_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unknown).unwrap_or_default();
    let new = unknown(object).into_iter().filter(|format| !before.contains(format));
    new.map(|format| format!("unrecognized format {format:?}")).collect()
}

fn unknown(object: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    for version in list(object, "/spec/versions") {
        walk(version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null), &mut found);
    }
    found
}

fn walk<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
    if !schema.is_object() {
        return;
    }
    let format = text(schema, "/format");
    let kind = match text(schema, "/type") {
        "" => None,
        "string" => Some(Kind::String),
        "integer" => Some(Kind::Integer),
        "number" => Some(Kind::Number),
        _ => Some(Kind::Object),
    };
    let known = is_known(kind, format);
    if !format.is_empty() && !known && !found.contains(&format) {
        found.push(format);
    }
    for key in ["items", "additionalProperties", "not"] {
        walk(schema.get(key).unwrap_or(&Value::Null), found);
    }
    for (key, _) in JUNCTORS.iter().filter(|(_, many)| *many) {
        list(schema, &format!("/{key}")).iter().for_each(|child| walk(child, found));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(Map::values).for_each(|child| walk(child, found));
}
