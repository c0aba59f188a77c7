//! OpenAPI v2: the definitions, and of the operations the patches: from their parameters kubectl before 1.27 learns whether the
//! server can do a dry run. Clients that need more read v3.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::schemas::PREFIX;
use crate::server::Options;

/// The document made of the components of all v3 documents.
pub(super) fn document<'a>(documents: impl Iterator<Item = &'a Bytes>, options: &Options) -> Value {
    let (mut definitions, mut paths) = (Map::new(), Map::new());
    for bytes in documents {
        let Ok(mut document) = machinery::decode::own::<Value>(bytes) else { continue };
        patches(&document, &mut paths);
        let Value::Object(schemas) = document["components"]["schemas"].take() else { continue };
        for (name, mut schema) in schemas {
            convert(&mut schema);
            definitions.insert(name, schema);
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": options.title, "version": options.version.minor()},
        "paths": paths,
        "definitions": definitions,
    })
}

fn patches(document: &Value, paths: &mut Map<String, Value>) {
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        let Some(patch) = operations.get("patch") else { continue };
        let parameters: Vec<Value> =
            patch["parameters"].as_array().into_iter().flatten().map(parameter).collect();
        paths.insert(
            path.clone(),
            json!({"patch": {
                "operationId": patch["operationId"],
                "parameters": parameters,
                "responses": {},
                (KIND): patch[KIND],
            }}),
        );
    }
}

/// The extension of an operation that names the kind it is for.
pub(super) const KIND: &str = "x-kubernetes-group-version-kind";

fn parameter(v3: &Value) -> Value {
    json!({"name": v3["name"], "in": v3["in"], "type": v3["schema"]["type"]})
}

/// What v2 cannot say is left out, as a real server leaves it out.
fn convert(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if let Some(Value::Array(all)) = fields.get("allOf")
        && let [Value::Object(only)] = all.as_slice()
        && let Some(Value::String(target)) = only.get("$ref")
    {
        let target = target.replace(PREFIX, "#/definitions/");
        fields.remove("allOf");
        fields.insert("$ref".into(), target.into());
    }
    if let Some(Value::String(target)) = fields.get_mut("$ref") {
        *target = target.replace(PREFIX, "#/definitions/");
    }
    // A quantity, or a number or a text: there it is a text.
    if fields.contains_key("oneOf") && !fields.contains_key("type") {
        fields.insert("type".into(), "string".into());
    }
    for junctor in ["anyOf", "oneOf", "allOf", "not"] {
        fields.remove(junctor);
    }
    // v2 has no null: a nullable value can be of any type there.
    if fields.remove("nullable") == Some(Value::Bool(true)) {
        for field in ["type", "items", "properties", "additionalProperties"] {
            fields.remove(field);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(convert);
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get_mut(nested) {
            convert(schema);
        }
    }
}
