//! JSON text of typed objects as Go encodes it: fields in the order of declaration, including those that are always
//! encoded.

use serde_json::Value;

use super::index::find;
use super::schema;
use super::structure::{FieldType, Type};
use machinery::schema::Presence;

/// Encodes `object` as the type of that name. Fields that the type does not have are omitted.
pub fn go_text(name: &str, object: &Value) -> String {
    let mut text = String::new();
    match find(name) {
        Some(ty) => structure(ty, object, &mut text),
        None => text.push_str("null"),
    }
    text
}

fn structure(ty: &Type, object: &Value, text: &mut String) {
    text.push('{');
    for declared in &ty.fields {
        let found = &object[declared.name];
        if found.is_null() && declared.presence != Presence::Always {
            continue;
        }
        if !text.ends_with('{') {
            text.push(',');
        }
        text.push_str(&format!("\"{}\":", declared.name));
        if found.is_null() {
            match &declared.ty {
                FieldType::Named(_) => value(&declared.ty, &Value::Object(serde_json::Map::new()), text),
                other => text.push_str(&schema::zero(other).to_string()),
            }
        } else {
            value(&declared.ty, found, text);
        }
    }
    text.push('}');
}

fn value(ty: &FieldType, found: &Value, text: &mut String) {
    match (ty, found) {
        (FieldType::Named(name), Value::Object(_)) => match find(name) {
            Some(ty) => structure(ty, found, text),
            None => text.push_str("null"),
        },
        (FieldType::List(items), Value::Array(list)) => {
            text.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                value(items, item, text);
            }
            text.push(']');
        }
        _ => text.push_str(&escaped(&found.to_string())),
    }
}

/// Escapes HTML characters in JSON as Go does.
pub fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
