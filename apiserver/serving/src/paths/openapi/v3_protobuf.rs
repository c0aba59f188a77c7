//! OpenAPI v3 as protobuf: the messages of `gnostic`'s `openapi.v3`, by their field numbers.

use kinds::protobuf::Writer;
use serde_json::{Map, Value};

/// Schema fields that are copied unchanged: field number, name.
const TEXTS: [(u64, &str); 5] =
    [(9, "title"), (17, "pattern"), (25, "type"), (34, "description"), (35, "format")];
const NUMBERS: [(u64, &str); 3] = [(10, "multipleOf"), (11, "maximum"), (13, "minimum")];
const FLAGS: [(u64, &str); 4] =
    [(1, "nullable"), (12, "exclusiveMaximum"), (14, "exclusiveMinimum"), (20, "uniqueItems")];
const COUNTS: [(u64, &str); 6] = [
    (15, "maxLength"),
    (16, "minLength"),
    (18, "maxItems"),
    (19, "minItems"),
    (21, "maxProperties"),
    (22, "minProperties"),
];
const JUNCTORS: [(u64, &str); 3] = [(26, "allOf"), (27, "oneOf"), (28, "anyOf")];

/// The operations of a path: field number, method.
const METHODS: [(u64, &str); 7] =
    [(4, "get"), (5, "put"), (6, "post"), (7, "delete"), (8, "options"), (9, "head"), (10, "patch")];

/// Encodes a document of [`super::document`] as protobuf.
pub(crate) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    text(&mut out, 1, &document["openapi"]);
    let mut info = Writer::default();
    text(&mut info, 1, &document["info"]["title"]);
    text(&mut info, 6, &document["info"]["version"]);
    out.bytes(2, &info.0);
    let mut paths = Writer::default();
    for (path, item) in map(&document["paths"]) {
        paths.bytes(1, &named(path, &path_item(item)));
    }
    out.bytes(4, &paths.0);
    let mut schemas = Writer::default();
    for (name, schema) in map(&document["components"]["schemas"]) {
        schemas.bytes(1, &named(name, &schema_or_reference(schema)));
    }
    let mut components = Writer::default();
    components.bytes(1, &schemas.0);
    out.bytes(5, &components.0);
    out.0
}

fn map(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(out: &mut Writer, number: u64, value: &Value) {
    if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
        out.bytes(number, text.as_bytes());
    }
}

fn flag(out: &mut Writer, number: u64, value: &Value) {
    if value == &Value::Bool(true) {
        out.varint(number, 1);
    }
}

/// Encodes a map entry: name and value.
fn named(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(1, name.as_bytes());
    out.bytes(2, value);
    out.0
}

/// Encodes a value as YAML text; JSON is valid YAML.
fn any(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(2, format!("{value}\n").as_bytes());
    out.0
}

fn extensions(out: &mut Writer, number: u64, value: &Value) {
    for (name, value) in map(value).filter(|(name, _)| name.starts_with("x-")) {
        out.bytes(number, &named(name, &any(value)));
    }
}

/// Encodes a oneof of the value itself or a reference to it.
fn or_reference(value: &Value, write: fn(&Value) -> Vec<u8>) -> Vec<u8> {
    let mut out = Writer::default();
    match value["$ref"].as_str() {
        Some(target) => {
            let mut reference = Writer::default();
            reference.bytes(1, target.as_bytes());
            out.bytes(2, &reference.0);
        }
        None => out.bytes(1, &write(value)),
    }
    out.0
}

fn schema_or_reference(value: &Value) -> Vec<u8> {
    or_reference(value, schema)
}

fn schema(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    TEXTS.iter().for_each(|(number, name)| text(&mut out, *number, &value[*name]));
    FLAGS.iter().for_each(|(number, name)| flag(&mut out, *number, &value[*name]));
    for (number, name) in NUMBERS {
        if let Some(found) = value[name].as_f64() {
            out.double(number, found);
        }
    }
    for (number, name) in COUNTS {
        if let Some(found) = value[name].as_i64() {
            out.varint(number, found.cast_unsigned());
        }
    }
    list(value, "required").for_each(|name| text(&mut out, 23, name));
    list(value, "enum").for_each(|allowed| out.bytes(24, &any(allowed)));
    for (number, name) in JUNCTORS {
        list(value, name).for_each(|schema| out.bytes(number, &schema_or_reference(schema)));
    }
    if value["not"].is_object() {
        out.bytes(29, &schema(&value["not"]));
    }
    if value["items"].is_object() {
        let mut items = Writer::default();
        items.bytes(1, &schema_or_reference(&value["items"]));
        out.bytes(30, &items.0);
    }
    if value["properties"].is_object() {
        let mut properties = Writer::default();
        for (name, property) in map(&value["properties"]) {
            properties.bytes(1, &named(name, &schema_or_reference(property)));
        }
        out.bytes(31, &properties.0);
    }
    additional(&mut out, &value["additionalProperties"]);
    default(&mut out, value.get("default"));
    extensions(&mut out, 36, value);
    out.0
}

fn additional(out: &mut Writer, value: &Value) {
    let mut item = Writer::default();
    match value {
        Value::Object(_) => item.bytes(1, &schema_or_reference(value)),
        Value::Bool(flag) => item.varint(2, u64::from(*flag)),
        _ => return,
    }
    out.bytes(32, &item.0);
}

/// Encodes a default value; only scalars have a message.
fn default(out: &mut Writer, value: Option<&Value>) {
    let mut item = Writer::default();
    match value {
        Some(Value::Number(number)) => item.double(1, number.as_f64().unwrap_or_default()),
        Some(Value::Bool(flag)) => item.varint(2, u64::from(*flag)),
        Some(Value::String(text)) => item.bytes(3, text.as_bytes()),
        _ => return,
    }
    out.bytes(33, &item.0);
}

fn path_item(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    text(&mut out, 3, &value["description"]);
    for (number, method) in METHODS {
        if value[method].is_object() {
            out.bytes(number, &operation(&value[method]));
        }
    }
    list(value, "parameters").for_each(|found| out.bytes(13, &or_reference(found, parameter)));
    extensions(&mut out, 14, value);
    out.0
}

fn operation(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    list(value, "tags").for_each(|tag| text(&mut out, 1, tag));
    text(&mut out, 3, &value["description"]);
    text(&mut out, 5, &value["operationId"]);
    list(value, "parameters").for_each(|found| out.bytes(6, &or_reference(found, parameter)));
    if value["requestBody"].is_object() {
        out.bytes(7, &or_reference(&value["requestBody"], request_body));
    }
    let mut responses = Writer::default();
    for (code, found) in map(&value["responses"]) {
        let found = or_reference(found, response);
        if code == "default" {
            responses.bytes(1, &found);
        } else {
            responses.bytes(2, &named(code, &found));
        }
    }
    out.bytes(8, &responses.0);
    extensions(&mut out, 13, value);
    out.0
}

fn parameter(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    text(&mut out, 1, &value["name"]);
    text(&mut out, 2, &value["in"]);
    text(&mut out, 3, &value["description"]);
    flag(&mut out, 4, &value["required"]);
    if value["schema"].is_object() {
        out.bytes(10, &schema_or_reference(&value["schema"]));
    }
    out.0
}

fn request_body(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    text(&mut out, 1, &value["description"]);
    content(&mut out, 2, &value["content"]);
    flag(&mut out, 3, &value["required"]);
    out.0
}

fn response(value: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    text(&mut out, 1, &value["description"]);
    content(&mut out, 3, &value["content"]);
    out.0
}

/// Encodes schemas by media type.
fn content(out: &mut Writer, number: u64, value: &Value) {
    let mut types = Writer::default();
    for (name, found) in map(value) {
        let mut media_type = Writer::default();
        media_type.bytes(1, &schema_or_reference(&found["schema"]));
        types.bytes(1, &named(name, &media_type.0));
    }
    if !types.0.is_empty() {
        out.bytes(number, &types.0);
    }
}
