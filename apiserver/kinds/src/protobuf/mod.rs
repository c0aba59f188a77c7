//! Bodies in `application/vnd.kubernetes.protobuf`, for the built-in kinds that clients send and request in this
//! format.

mod encode;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use serde_json::{Map, Value};

use self::wire::{Reader, Wire};
use crate::types::{self, Field, FieldType, Type};
use machinery::clock::{rfc3339, rfc3339_micro};
use machinery::limits::MAX_DEPTH;
use machinery::schema::Presence;

pub use encode::{encode, is_known, watch_frame};
pub use wire::Writer;

/// The first bytes of each body.
const MAGIC: &[u8] = b"k8s\0";

/// The field number of the texts in a message that is a list of texts in JSON.
const ITEMS_FIELD: u64 = 1;

/// Decodes `k8s\0` followed by a `runtime.Unknown` to the JSON form of the object, with `apiVersion` and `kind`.
/// `default_kind` contains them for a body that has none.
///
/// The error is a message, which names the kind if it is unknown.
pub fn decode(bytes: &[u8], default_kind: Option<(&str, &str)>) -> Result<Value, String> {
    let body = bytes
        .strip_prefix(MAGIC)
        .ok_or("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")?;
    let unknown = message(body, known("runtime.Unknown")?, 0)?;
    let text = |name: &str| unknown.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (default_version, default_name) = default_kind.unzip();
    let api_version = text("apiVersion").or(default_version).unwrap_or_default();
    let kind = text("kind").or(default_name).unwrap_or_default();
    let raw = match unknown.get("raw").and_then(Value::as_str) {
        Some(raw) => STANDARD.decode(raw).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    let described = find(api_version, kind)
        .ok_or_else(|| format!("{kind} in {api_version} cannot be sent as protobuf here; send JSON"))?;
    let mut object = message(&raw, described, 0).map_err(|error| format!("{kind}: {error}"))?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// Kinds of `meta/v1` that occur in any group.
const OF_ANY_GROUP: [&str; 6] =
    ["DeleteOptions", "Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"];

/// Returns the type of a kind.
fn find(api_version: &str, kind: &str) -> Option<&'static Type> {
    types::find(&type_name(api_version, kind))
}

/// Returns the name of the type of a kind, which need not exist.
pub(crate) fn type_name(api_version: &str, kind: &str) -> String {
    if OF_ANY_GROUP.contains(&kind) {
        return types::name_of("meta", "v1", kind);
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    types::name_of(group, version, kind)
}

fn known(name: &str) -> Result<&'static Type, String> {
    types::find(name).ok_or_else(|| format!("there is no type {name}"))
}

fn message(bytes: &[u8], described: &Type, depth: usize) -> Result<Map<String, Value>, String> {
    if depth > MAX_DEPTH {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    let mut object = Map::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        let Some(field) = described.fields.iter().find(|field| field.number == number) else { continue };
        if let Some(value) =
            read(field, wire, &mut object, depth).map_err(|error| format!("{}: {error}", field.name))?
        {
            object.insert(field.name.to_owned(), value);
        }
    }
    Ok(object)
}

/// Decodes one occurrence of `field` and combines it with earlier occurrences. Returns `None` to omit the field.
fn read(
    field: &Field,
    wire: Wire<'_>,
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<Option<Value>, String> {
    match (&field.ty, field.presence) {
        (FieldType::List(item), _) => {
            let mut list = match object.remove(field.name) {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            list.extend(value(item, wire, depth)?);
            Ok(Some(Value::Array(list)))
        }
        (FieldType::Map(item), _) => {
            let mut map = match object.remove(field.name) {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            let (key, item) = entry(item, wire, depth)?;
            map.insert(key, item);
            Ok(Some(Value::Object(map)))
        }
        (ty, Presence::Inline) => {
            if let Some(Value::Object(inner)) = value(ty, wire, depth)? {
                object.extend(inner);
            }
            Ok(None)
        }
        (ty, Presence::NotNil | Presence::Nullable) => value(ty, wire, depth),
        (ty, Presence::Always | Presence::NotZero) => {
            Ok(value(ty, wire, depth)?.filter(|value| !is_zero(value)))
        }
    }
}

/// Go omits zero values in JSON, but protobuf contains them.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn entry(ty: &FieldType, wire: Wire<'_>, depth: usize) -> Result<(String, Value), String> {
    let mut reader = Reader::new(wire.bytes()?);
    let (mut key, mut item) = (String::new(), None);
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => key = wire.text()?.to_owned(),
            2 => item = value(ty, wire, depth)?,
            _ => {}
        }
    }
    Ok((key, item.unwrap_or_else(|| "".into())))
}

fn value(ty: &FieldType, wire: Wire<'_>, depth: usize) -> Result<Option<Value>, String> {
    Ok(match ty {
        FieldType::Text | FieldType::Enum(_) => Some(wire.text()?.into()),
        FieldType::Bytes => Some(STANDARD.encode(wire.bytes()?).into()),
        FieldType::Integer { .. } => Some(wire.integer()?.into()),
        FieldType::Boolean => Some((wire.integer()? != 0).into()),
        FieldType::Time => time(wire.bytes()?, rfc3339)?,
        FieldType::MicroTime => time(wire.bytes()?, rfc3339_micro)?,
        FieldType::Quantity => Some(first_text(wire)?.unwrap_or_else(|| "0".into())),
        FieldType::IntOrString => Some(int_or_string(wire)?),
        FieldType::Raw | FieldType::FieldsV1 => {
            let raw = message(wire.bytes()?, known("runtime.FieldsV1")?, depth + 1)?;
            let bytes = raw.get("raw").and_then(Value::as_str).map(|raw| STANDARD.decode(raw));
            match bytes {
                Some(Ok(bytes)) if !bytes.is_empty() => Some(machinery::decode::json(&bytes)?.value),
                _ => None,
            }
        }
        FieldType::Texts => {
            let inner = message(wire.bytes()?, known("runtime.Texts")?, depth + 1)?;
            Some(inner.get("items").cloned().unwrap_or_else(|| Value::Array(Vec::new())))
        }
        FieldType::Named(name) => Some(Value::Object(message(wire.bytes()?, known(name)?, depth + 1)?)),
        FieldType::List(_) | FieldType::Map(_) => None,
    })
}

/// Returns the text in field 1.
fn first_text(wire: Wire<'_>) -> Result<Option<Value>, String> {
    let mut reader = Reader::new(wire.bytes()?);
    while let Some((number, wire)) = reader.field()? {
        if number == 1 {
            return Ok(Some(wire.text()?.into()));
        }
    }
    Ok(None)
}

/// Decodes an `intstr.IntOrString`, which has fields for its type, the integer and the text.
fn int_or_string(wire: Wire<'_>) -> Result<Value, String> {
    let mut reader = Reader::new(wire.bytes()?);
    let (mut is_text, mut integer, mut text) = (false, 0, "");
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => is_text = wire.integer()? != 0,
            2 => integer = wire.integer()?,
            3 => text = wire.text()?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { integer.into() })
}

fn time(bytes: &[u8], write: fn(DateTime<chrono::Utc>) -> String) -> Result<Option<Value>, String> {
    let mut reader = Reader::new(bytes);
    let (mut seconds, mut nanos) = (None, 0);
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => seconds = Some(wire.integer()?),
            2 => nanos = wire.integer()?,
            _ => {}
        }
    }
    let Some(seconds) = seconds else { return Ok(None) };
    let nanos = u32::try_from(nanos).map_err(|_| format!("{nanos} nanoseconds"))?;
    let time =
        DateTime::from_timestamp(seconds, nanos).ok_or_else(|| format!("no such time: {seconds} s"))?;
    Ok(Some(write(time).into()))
}
