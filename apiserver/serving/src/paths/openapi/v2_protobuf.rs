//! OpenAPI v2 as protobuf: the messages of `gnostic`'s `openapi.v2`, the only form that kubectl requests.

use prost::Message;
use serde_json::{Map, Value};

use super::v2::KIND;

#[derive(Clone, PartialEq, Message)]
struct Document {
    #[prost(string, tag = "1")]
    swagger: String,
    #[prost(message, optional, tag = "2")]
    info: Option<Info>,
    #[prost(message, optional, tag = "8")]
    paths: Option<Paths>,
    #[prost(message, optional, tag = "9")]
    definitions: Option<NamedSchemas>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(string, tag = "1")]
    title: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Paths {
    #[prost(message, repeated, tag = "2")]
    path: Vec<NamedPathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedPathItem {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<PathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct PathItem {
    #[prost(message, optional, tag = "8")]
    patch: Option<Operation>,
}

#[derive(Clone, PartialEq, Message)]
struct Operation {
    #[prost(string, tag = "5")]
    operation_id: String,
    #[prost(message, repeated, tag = "8")]
    parameters: Vec<ParametersItem>,
    #[prost(message, repeated, tag = "13")]
    vendor_extension: Vec<NamedAny>,
}

/// `ParametersItem` with its `Parameter`; its other variants (references, bodies) are not used.
#[derive(Clone, PartialEq, Message)]
struct ParametersItem {
    #[prost(message, optional, tag = "1")]
    parameter: Option<Parameter>,
}

#[derive(Clone, PartialEq, Message)]
struct Parameter {
    #[prost(message, optional, tag = "2")]
    non_body: Option<NonBodyParameter>,
}

#[derive(Clone, PartialEq, Message)]
struct NonBodyParameter {
    #[prost(message, optional, tag = "3")]
    query: Option<QueryParameter>,
}

#[derive(Clone, PartialEq, Message)]
struct QueryParameter {
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "6")]
    kind: String,
}

/// The messages `Definitions` and `Properties`.
#[derive(Clone, PartialEq, Message)]
struct NamedSchemas {
    #[prost(message, repeated, tag = "1")]
    schemas: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedSchema {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Schema>,
}

/// A value as YAML text.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "2")]
    yaml: String,
}

#[derive(Clone, PartialEq, Message)]
struct NamedAny {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeItem {
    #[prost(string, repeated, tag = "1")]
    value: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ItemsItem {
    #[prost(message, repeated, tag = "1")]
    schema: Vec<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct AdditionalPropertiesItem {
    #[prost(message, optional, boxed, tag = "1")]
    schema: Option<Box<Schema>>,
    #[prost(bool, tag = "2")]
    boolean: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Schema {
    #[prost(string, tag = "1")]
    reference: String,
    #[prost(string, tag = "2")]
    format: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(message, optional, tag = "5")]
    default: Option<Any>,
    #[prost(double, tag = "6")]
    multiple_of: f64,
    #[prost(double, tag = "7")]
    maximum: f64,
    #[prost(bool, tag = "8")]
    exclusive_maximum: bool,
    #[prost(double, tag = "9")]
    minimum: f64,
    #[prost(bool, tag = "10")]
    exclusive_minimum: bool,
    #[prost(int64, tag = "11")]
    max_length: i64,
    #[prost(int64, tag = "12")]
    min_length: i64,
    #[prost(string, tag = "13")]
    pattern: String,
    #[prost(int64, tag = "14")]
    max_items: i64,
    #[prost(int64, tag = "15")]
    min_items: i64,
    #[prost(bool, tag = "16")]
    unique_items: bool,
    #[prost(int64, tag = "17")]
    max_properties: i64,
    #[prost(int64, tag = "18")]
    min_properties: i64,
    #[prost(string, repeated, tag = "19")]
    required: Vec<String>,
    #[prost(message, repeated, tag = "20")]
    allowed: Vec<Any>,
    #[prost(message, optional, boxed, tag = "21")]
    additional_properties: Option<Box<AdditionalPropertiesItem>>,
    #[prost(message, optional, tag = "22")]
    kind: Option<TypeItem>,
    #[prost(message, optional, tag = "23")]
    items: Option<ItemsItem>,
    #[prost(message, optional, tag = "25")]
    properties: Option<NamedSchemas>,
    #[prost(message, repeated, tag = "31")]
    vendor_extension: Vec<NamedAny>,
}

/// Encodes the document of [`super::v2::document`] as protobuf.
pub(crate) fn encode(document: &Value) -> Vec<u8> {
    let info = &document["info"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Document {
        swagger: text(&document["swagger"]),
        info: Some(Info { title: text(&info["title"]), version: text(&info["version"]) }),
        paths: document["paths"].as_object().map(paths),
        definitions: document["definitions"].as_object().map(named),
    }
    .encode_to_vec()
}

fn paths(paths: &Map<String, Value>) -> Paths {
    let path = paths.iter().map(|(name, item)| NamedPathItem {
        name: name.clone(),
        value: Some(PathItem { patch: item.get("patch").map(operation) }),
    });
    Paths { path: path.collect() }
}

fn operation(value: &Value) -> Operation {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parameters = value["parameters"].as_array().into_iter().flatten().map(|parameter| {
        let (place, name, kind) =
            (text(&parameter["in"]), text(&parameter["name"]), text(&parameter["type"]));
        let query = Some(QueryParameter { place, name, kind });
        ParametersItem { parameter: Some(Parameter { non_body: Some(NonBodyParameter { query }) }) }
    });
    Operation {
        operation_id: text(&value["operationId"]),
        parameters: parameters.collect(),
        vendor_extension: vec![NamedAny { name: KIND.to_owned(), value: Some(any(&value[KIND])) }],
    }
}

fn named(schemas: &Map<String, Value>) -> NamedSchemas {
    let schemas =
        schemas.iter().map(|(name, value)| NamedSchema { name: name.clone(), value: Some(schema(value)) });
    NamedSchemas { schemas: schemas.collect() }
}

/// Encodes a value as JSON, which is valid YAML.
fn any(value: &Value) -> Any {
    Any { yaml: format!("{value}\n") }
}

fn schema(value: &Value) -> Schema {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let number = |field: &str| value[field].as_f64().unwrap_or_default();
    let whole = |field: &str| value[field].as_i64().unwrap_or_default();
    let flag = |field: &str| value[field].as_bool().unwrap_or_default();
    let list = |field: &str| value[field].as_array().into_iter().flatten();
    let additional = &value["additionalProperties"];
    let additional = match additional {
        Value::Object(_) => {
            Some(AdditionalPropertiesItem { schema: Some(Box::new(schema(additional))), boolean: false })
        }
        Value::Bool(true) => Some(AdditionalPropertiesItem { schema: None, boolean: true }),
        _ => None,
    };
    let extensions = value.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-"));
    Schema {
        reference: text("$ref"),
        format: text("format"),
        description: text("description"),
        default: value.get("default").map(any),
        multiple_of: number("multipleOf"),
        maximum: number("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        minimum: number("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        max_length: whole("maxLength"),
        min_length: whole("minLength"),
        pattern: text("pattern"),
        max_items: whole("maxItems"),
        min_items: whole("minItems"),
        unique_items: flag("uniqueItems"),
        max_properties: whole("maxProperties"),
        min_properties: whole("minProperties"),
        required: list("required").filter_map(Value::as_str).map(str::to_owned).collect(),
        allowed: list("enum").map(any).collect(),
        additional_properties: additional.map(Box::new),
        kind: value["type"].as_str().map(|kind| TypeItem { value: vec![kind.to_owned()] }),
        items: value.get("items").map(|items| ItemsItem { schema: vec![schema(items)] }),
        properties: value["properties"].as_object().map(named),
        vendor_extension: extensions
            .map(|(name, value)| NamedAny { name: name.clone(), value: Some(any(value)) })
            .collect(),
    }
}
