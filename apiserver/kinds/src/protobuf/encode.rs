//! Encoding of responses in `application/vnd.kubernetes.protobuf`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::wire::Writer;
use super::{ITEMS_FIELD, MAGIC, find};
use crate::types::{self, Field, FieldType, Type};
use machinery::clock::parse_rfc3339;
use machinery::schema::Presence;

/// Returns whether objects of this kind can be encoded as protobuf.
pub fn is_known(api_version: &str, kind: &str) -> bool {
    find(api_version, kind).is_some()
}

/// Encodes an object or a list as `k8s\0` followed by a `runtime.Unknown`. Returns `None` for a kind without a protobuf
/// message.
pub fn encode(object: &Value) -> Option<Vec<u8>> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let map = object.as_object()?;
    let mut raw = Writer::default();
    match (find(api_version, kind), kind.strip_suffix("List")) {
        (Some(described), _) => message(&mut raw, map, described),
        (None, Some(item)) => {
            let item = find(api_version, item)?;
            if let Some(metadata) = map.get("metadata").and_then(Value::as_object) {
                nested(&mut raw, 1, metadata, types::find("meta.v1.ListMeta")?);
            }
            for object in map.get("items").and_then(Value::as_array).into_iter().flatten() {
                nested(&mut raw, 2, object.as_object()?, item);
            }
        }
        (None, None) => return None,
    }
    let mut type_meta = Writer::default();
    type_meta.bytes(1, api_version.as_bytes());
    type_meta.bytes(2, kind.as_bytes());
    let mut unknown = Writer::default();
    unknown.bytes(1, &type_meta.0);
    unknown.bytes(2, &raw.0);
    // The content encoding and the content type are empty in all bodies.
    unknown.bytes(3, b"");
    unknown.bytes(4, b"");
    Some([MAGIC, &unknown.0].concat())
}

/// Encodes a `metav1.WatchEvent` around an encoded object as one frame of a stream: four bytes of length, then the
/// message.
pub fn watch_frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Writer::default();
    raw.bytes(1, object);
    let mut event = Writer::default();
    event.bytes(1, kind.as_bytes());
    event.bytes(2, &raw.0);
    let length = u32::try_from(event.0.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &event.0].concat()
}

fn nested(writer: &mut Writer, number: u64, map: &Map<String, Value>, described: &Type) {
    let mut inner = Writer::default();
    message(&mut inner, map, described);
    writer.bytes(number, &inner.0);
}

fn message(writer: &mut Writer, map: &Map<String, Value>, described: &Type) {
    for field in &described.fields {
        if let (Presence::Inline, FieldType::Named(name)) = (field.presence, &field.ty) {
            if let Some(inner) = types::find(name) {
                nested(writer, field.number, map, inner);
            }
        } else if let Some(found) = map.get(field.name).filter(|found| !found.is_null()) {
            write(writer, field, found);
        }
    }
}

fn write(writer: &mut Writer, field: &Field, found: &Value) {
    match (&field.ty, found) {
        (FieldType::List(item), Value::Array(list)) => {
            for found in list {
                value(writer, field.number, item, found);
            }
        }
        (FieldType::Map(item), Value::Object(map)) => {
            for (key, found) in map {
                let mut entry = Writer::default();
                entry.bytes(1, key.as_bytes());
                value(&mut entry, 2, item, found);
                writer.bytes(field.number, &entry.0);
            }
        }
        (ty, found) => value(writer, field.number, ty, found),
    }
}

/// Writes one value. A value that does not fit its type is omitted, because it cannot have been stored.
fn value(writer: &mut Writer, number: u64, ty: &FieldType, found: &Value) {
    match (ty, found) {
        (FieldType::Text | FieldType::Enum(_), Value::String(text)) => {
            writer.bytes(number, text.as_bytes());
        }
        (FieldType::Bytes, Value::String(text)) => {
            writer.bytes(number, &STANDARD.decode(text).unwrap_or_default());
        }
        (FieldType::Integer { .. }, found) => {
            if let Some(integer) = found.as_i64() {
                writer.varint(number, integer.cast_unsigned());
            }
        }
        (FieldType::Boolean, Value::Bool(flag)) => writer.varint(number, u64::from(*flag)),
        (FieldType::Named(name), Value::Object(map)) => {
            if let Some(described) = types::find(name) {
                nested(writer, number, map, described);
            }
        }
        (ty, found) => {
            if let Some(inner) = wrapped(ty, found) {
                writer.bytes(number, &inner.0);
            }
        }
    }
}

/// Encodes a value that is a message on the wire but a scalar or list in JSON.
fn wrapped(ty: &FieldType, found: &Value) -> Option<Writer> {
    let mut inner = Writer::default();
    match (ty, found) {
        (FieldType::Time | FieldType::MicroTime, Value::String(text)) => {
            let time = parse_rfc3339(text)?;
            inner.varint(1, time.timestamp().cast_unsigned());
            inner.varint(2, u64::from(time.timestamp_subsec_nanos()));
        }
        (FieldType::Quantity, Value::String(text)) => inner.bytes(1, text.as_bytes()),
        (FieldType::Quantity, Value::Number(number)) => inner.bytes(1, number.to_string().as_bytes()),
        (FieldType::IntOrString, Value::String(text)) => {
            inner.varint(1, 1);
            inner.bytes(3, text.as_bytes());
        }
        (FieldType::IntOrString, Value::Number(number)) => {
            inner.varint(1, 0);
            inner.varint(2, number.as_i64()?.cast_unsigned());
        }
        (FieldType::Raw | FieldType::FieldsV1, found) => inner.bytes(1, found.to_string().as_bytes()),
        (FieldType::Texts, Value::Array(list)) => {
            for text in list.iter().filter_map(Value::as_str) {
                inner.bytes(ITEMS_FIELD, text.as_bytes());
            }
        }
        _ => return None,
    }
    Some(inner)
}
