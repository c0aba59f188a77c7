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
    let newest = root(source, kind)?;
    let mut versions = vec![version(&kind["version"], &newest)?];
    for ((_, older_name), older) in source.older.iter().filter(|((crd, _), _)| crd == name) {
        let mut schema = root(source, older).with_context(|| format!("in version {older_name}"))?;
        describe(&mut schema, &newest);
        let mut older = version(older, &schema)?;
        older.insert("name".into(), json!(older_name));
        older.insert("storage".into(), json!(false));
        versions.push(older);
    }
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
            "versions": versions,
        },
    }))
}

fn version(version: &Value, schema: &Value) -> anyhow::Result<Map<String, Value>> {
    let mut version = version.as_object().context("`version` is missing")?.clone();
    version.insert("schema".into(), json!({ "openAPIV3Schema": schema }));
    Ok(version)
}

/// Gives each field of an older version that has no description the one of the same field in the newest version.
fn describe(older: &mut Value, newest: &Value) {
    let Some(older) = older.as_object_mut() else { return };
    if let Some(text) = newest.get("description") {
        older.entry("description").or_insert_with(|| text.clone());
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = older.get_mut(key) {
            describe(inner, &newest[key]);
        }
    }
    for (name, field) in older.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        describe(field, &newest["properties"][name]);
    }
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
        let Value::Object(target) = expand(source, source.schema(name)?)? else {
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
