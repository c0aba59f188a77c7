//! Answers in `application/vnd.kubernetes.protobuf`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::kinds::{self, Field, Kind, Message, Type};
use super::wire::Writer;
use super::{ITEMS_FIELD, MAGIC};
use crate::clock::parse_rfc3339;

/// Whether objects of this kind can be answered as protobuf.
pub fn is_known(api_version: &str, kind: &str) -> bool {
    kinds::find(api_version, kind).is_some()
}

/// An object, or a list of objects, as `k8s\0` followed by a `runtime.Unknown`; `None` for a kind that has no message here.
pub fn encode(object: &Value) -> Option<Vec<u8>> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let map = object.as_object()?;
    let mut raw = Writer::default();
    match (kinds::find(api_version, kind), kind.strip_suffix("List")) {
        (Some(described), _) => message(&mut raw, map, described),
        (None, Some(item)) => {
            let item = kinds::find(api_version, item)?;
            if let Some(metadata) = map.get("metadata").and_then(Value::as_object) {
                nested(&mut raw, 1, metadata, &kinds::LIST_META);
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
    // The encodings of the content, which are those of every body.
    unknown.bytes(3, b"");
    unknown.bytes(4, b"");
    Some([MAGIC, &unknown.0].concat())
}

/// A `metav1.WatchEvent` around an object that is encoded already, as one frame of a stream: its length in four bytes, then the
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

fn nested(writer: &mut Writer, number: u64, map: &Map<String, Value>, described: &Message) {
    let mut inner = Writer::default();
    message(&mut inner, map, described);
    writer.bytes(number, &inner.0);
}

fn message(writer: &mut Writer, map: &Map<String, Value>, described: &Message) {
    for field in described.0 {
        if let (Kind::Inline, Type::Message(inner)) = (field.kind, field.ty) {
            nested(writer, field.number, map, inner);
        } else if let Some(found) = map.get(field.name).filter(|found| !found.is_null()) {
            write(writer, field, found);
        }
    }
}

fn write(writer: &mut Writer, field: &Field, found: &Value) {
    match (field.kind, found) {
        (Kind::List, Value::Array(list)) => {
            for item in list {
                value(writer, field.number, field.ty, item);
            }
        }
        (Kind::Map, Value::Object(map)) => {
            for (key, item) in map {
                let mut entry = Writer::default();
                entry.bytes(1, key.as_bytes());
                value(&mut entry, 2, field.ty, item);
                writer.bytes(field.number, &entry.0);
            }
        }
        (Kind::List | Kind::Map, _) => {}
        _ => value(writer, field.number, field.ty, found),
    }
}

/// One value; what does not fit its type is left out, for it cannot have been stored.
fn value(writer: &mut Writer, number: u64, ty: Type, found: &Value) {
    match (ty, found) {
        (Type::Text, Value::String(text)) => writer.bytes(number, text.as_bytes()),
        (Type::Bytes, Value::String(text)) => {
            writer.bytes(number, &STANDARD.decode(text).unwrap_or_default());
        }
        (Type::Integer, found) => {
            if let Some(integer) = found.as_i64() {
                writer.varint(number, integer.cast_unsigned());
            }
        }
        (Type::Boolean, Value::Bool(flag)) => writer.varint(number, u64::from(*flag)),
        (Type::Time | Type::MicroTime, Value::String(text)) => {
            let Some(time) = parse_rfc3339(text) else { return };
            let mut inner = Writer::default();
            inner.varint(1, time.timestamp().cast_unsigned());
            inner.varint(2, u64::from(time.timestamp_subsec_nanos()));
            writer.bytes(number, &inner.0);
        }
        (Type::RawJson, found) => {
            let mut inner = Writer::default();
            inner.bytes(1, found.to_string().as_bytes());
            writer.bytes(number, &inner.0);
        }
        (Type::Texts, Value::Array(list)) => {
            let mut inner = Writer::default();
            for text in list.iter().filter_map(Value::as_str) {
                inner.bytes(ITEMS_FIELD, text.as_bytes());
            }
            writer.bytes(number, &inner.0);
        }
        (Type::Message(described), Value::Object(map)) => nested(writer, number, map, described),
        _ => {}
    }
}
