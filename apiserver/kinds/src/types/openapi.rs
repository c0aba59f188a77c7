//! Components of OpenAPI v3 documents.

use serde_json::{Map, Value, json};

use super::index::{find, values};
use super::structure::{Field, FieldType, Type};
use machinery::schema::Presence;

const PREFIX: &str = "#/components/schemas/";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";

/// Returns the name of a type in OpenAPI documents, which is that of its Go package.
pub fn openapi_name(name: &str) -> String {
    let package = match name.split('.').next().unwrap_or_default() {
        "meta" => "io.k8s.apimachinery.pkg.apis",
        "apiregistration" => "io.k8s.kube-aggregator.pkg.apis",
        _ => "io.k8s.api",
    };
    format!("{package}.{name}")
}

/// Adds the type and all types that it refers to, unless they are present. Returns false if the type does not exist.
pub fn components(name: &str, into: &mut Map<String, Value>) -> bool {
    let Some(ty) = find(name) else { return false };
    let key = openapi_name(name);
    if !into.contains_key(&key) {
        // The key is inserted first, because a type may refer to itself.
        into.insert(key.clone(), Value::Null);
        let schema = structure(ty, into);
        into.insert(key, schema);
    }
    true
}

fn structure(ty: &Type, into: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    add(ty, &mut properties, &mut required, into);
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if ty.atomic {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    schema
}

fn add(
    ty: &Type,
    properties: &mut Map<String, Value>,
    required: &mut Vec<Value>,
    into: &mut Map<String, Value>,
) {
    for declared in &ty.fields {
        match (&declared.ty, declared.presence) {
            (FieldType::Named(inner), Presence::Inline) => {
                if let Some(inner) = find(inner) {
                    add(inner, properties, required, into);
                }
            }
            _ => {
                properties.insert(declared.name.to_owned(), field(declared, into));
                if declared.required {
                    required.push(declared.name.into());
                }
            }
        }
    }
}

fn field(declared: &Field, into: &mut Map<String, Value>) -> Value {
    let mut schema = value(&declared.ty, into);
    let default = match declared.default {
        Some(text) => serde_json::from_str(text).ok(),
        None if declared.presence == Presence::Always => zero(&declared.ty),
        None => None,
    };
    let mut extend = |key: &str, value: Value| {
        // Keywords beside a `$ref` are ignored, hence `allOf`.
        if let Some(reference) = schema.as_object_mut().and_then(|schema| schema.remove("$ref")) {
            schema["allOf"] = json!([{"$ref": reference}]);
        }
        schema[key] = value;
    };
    if let Some(default) = default {
        extend("default", default);
    }
    match (&declared.ty, declared.set, declared.keys.is_empty()) {
        (FieldType::List(_), true, _) => extend("x-kubernetes-list-type", "set".into()),
        (FieldType::List(_), _, false) => {
            extend("x-kubernetes-list-map-keys", declared.keys.clone().into());
            extend("x-kubernetes-list-type", "map".into());
        }
        (FieldType::List(_), ..) => extend("x-kubernetes-list-type", "atomic".into()),
        _ if declared.atomic => extend("x-kubernetes-map-type", "atomic".into()),
        _ => {}
    }
    if let Some(key) = declared.patch_key {
        extend("x-kubernetes-patch-merge-key", key.into());
    }
    if let Some(strategy) = declared.patch_strategy {
        extend("x-kubernetes-patch-strategy", strategy.into());
    }
    schema
}

fn zero(ty: &FieldType) -> Option<Value> {
    Some(match ty {
        FieldType::Text | FieldType::Enum(_) => "".into(),
        FieldType::Integer { .. } => 0.into(),
        FieldType::Boolean => false.into(),
        FieldType::Named(_) => json!({}),
        _ => return None,
    })
}

fn value(ty: &FieldType, into: &mut Map<String, Value>) -> Value {
    let mut shared = |name: &str, schema: Value| {
        into.entry(name).or_insert(schema);
        json!({"$ref": format!("{PREFIX}{name}")})
    };
    match ty {
        FieldType::Text => json!({"type": "string"}),
        FieldType::Enum(name) => json!({"type": "string", "enum": values(name)}),
        FieldType::Integer { wide } => {
            json!({"type": "integer", "format": if *wide { "int64" } else { "int32" }})
        }
        FieldType::Boolean => json!({"type": "boolean"}),
        FieldType::Bytes => json!({"type": "string", "format": "byte"}),
        FieldType::Time => shared(TIME, json!({"type": "string", "format": "date-time"})),
        FieldType::MicroTime => shared(MICRO_TIME, json!({"type": "string", "format": "date-time"})),
        FieldType::Quantity => shared(QUANTITY, json!({"oneOf": [{"type": "string"}, {"type": "number"}]})),
        FieldType::IntOrString => shared(
            INT_OR_STRING,
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ),
        FieldType::Raw => shared(RAW, json!({"type": "object"})),
        FieldType::FieldsV1 => shared(FIELDS, json!({"type": "object"})),
        FieldType::Texts => json!({"type": "array", "items": {"type": "string"}}),
        FieldType::Named(name) => {
            components(name, into);
            json!({"$ref": format!("{PREFIX}{}", openapi_name(name))})
        }
        FieldType::List(item) => {
            let items = value(item, into);
            json!({"type": "array", "items": items})
        }
        FieldType::Map(item) => {
            let items = value(item, into);
            json!({"type": "object", "additionalProperties": items})
        }
    }
}
