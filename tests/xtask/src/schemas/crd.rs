//! Generates CustomResourceDefinitions from the sources.

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::source::Source;

/// Path and text of each file in `manifests/`.
pub fn files(source: &Source) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for (name, kind) in &source.kinds {
        let crd = definition(source, name, kind).with_context(|| format!("in {name}"))?;
        let text = format!("{}\n", serde_json::to_string_pretty(&crd)?);
        files.push((format!("{name}.json"), text));
    }
    Ok(files)
}

fn definition(source: &Source, name: &str, kind: &Value) -> anyhow::Result<Value> {
    let mut version = kind["version"].as_object().context("`version` is missing")?.clone();
    version.insert("schema".into(), json!({ "openAPIV3Schema": root(source, kind)? }));
    let mut metadata = json!({ "name": name, "labels": kind["labels"] });
    if !kind["annotations"].is_null() {
        metadata["annotations"] = kind["annotations"].clone();
    }
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind["group"],
            "names": kind["names"],
            "scope": kind["scope"],
            "conversion": { "strategy": "None" },
            "versions": [version],
        },
    }))
}

fn root(source: &Source, kind: &Value) -> anyhow::Result<Value> {
    let mut properties = Map::new();
    properties.insert("apiVersion".into(), json!({ "type": "string", "description": API_VERSION }));
    properties.insert("kind".into(), json!({ "type": "string", "description": KIND }));
    properties.insert("metadata".into(), json!({ "type": "object" }));
    let mut root = Map::new();
    for (key, value) in kind["schema"].as_object().context("`schema` is missing")? {
        if value.is_object() {
            properties.insert(key.clone(), expand(source, value)?);
        } else {
            root.insert(key.clone(), value.clone());
        }
    }
    root.insert("type".into(), json!("object"));
    root.insert("properties".into(), Value::Object(properties));
    Ok(Value::Object(root))
}

const API_VERSION: &str = "The group and version in which this object is written, as GROUP/VERSION.";
const KIND: &str = "What this object is. It can't be changed.";

/// Replaces references by the referenced types. Keys next to a reference take precedence.
fn expand(source: &Source, schema: &Value) -> anyhow::Result<Value> {
    let Some(schema) = schema.as_object() else { bail!("a schema must be a map") };
    let mut expanded = Map::new();
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let Value::Object(target) = expand(source, &source.named(name)?.schema)? else {
            bail!("the type {name} is not a map");
        };
        expanded.extend(target);
    }
    for (key, value) in schema {
        let value = match key.as_str() {
            "$ref" | "x-rust" => continue,
            "properties" => {
                let mut properties = Map::new();
                for (name, property) in value.as_object().context("`properties` must be a map")? {
                    let property = expand(source, property).with_context(|| format!("in {name}"))?;
                    properties.insert(name.clone(), property);
                }
                if properties.is_empty() {
                    continue;
                }
                Value::Object(properties)
            }
            "items" | "additionalProperties" => expand(source, value)?,
            _ => value.clone(),
        };
        expanded.insert(key.clone(), value);
    }
    Ok(Value::Object(expanded))
}
