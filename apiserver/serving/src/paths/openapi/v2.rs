//! OpenAPI v2: the definitions, and the patch operations, from whose parameters kubectl before 1.27 learns
//! whether the server supports dry run. Clients that need more use v3.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::schemas::{PREFIX, TITLE};
use crate::options::VersionInfo;

/// Builds the document from the components of all v3 documents.
pub(crate) fn document<'a>(documents: impl Iterator<Item = &'a Bytes>, version: &VersionInfo) -> Value {
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
        "info": {"title": TITLE, "version": version.minor()},
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

/// The extension of an operation that names its kind.
pub(crate) const KIND: &str = "x-kubernetes-group-version-kind";

fn parameter(v3: &Value) -> Value {
    json!({"name": v3["name"], "in": v3["in"], "type": v3["schema"]["type"]})
}

/// Converts a v3 schema; constructs that v2 lacks are left out, as in kube-apiserver.
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
    // A quantity, or an int-or-string: v2 describes it as a string.
    if fields.contains_key("oneOf") && !fields.contains_key("type") {
        fields.insert("type".into(), "string".into());
    }
    for junctor in ["anyOf", "oneOf", "allOf", "not"] {
        fields.remove(junctor);
    }
    // v2 has no null, so a nullable value may have any type.
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
