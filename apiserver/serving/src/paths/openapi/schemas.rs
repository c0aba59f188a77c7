//! Component schemas: objects, lists, and shared types.

use kinds::definition::{Definition, Structure, Version};
use kinds::types;
use serde_json::{Map, Value, json};

/// The schemas that all documents share (`ObjectMeta` and related types), as OpenAPI v3.
/// The title of the documents, which clients show.
pub(crate) const TITLE: &str = "Kubernetes";

const META: &str = include_str!("meta.json");

pub(crate) const PREFIX: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

const API_VERSION: &str =
    "The version of the API that this object is written in, as group/version. Unknown versions are refused.";
const KIND: &str = "The kind of object, in CamelCase. It can't be changed.";

/// Returns the shared schemas by name.
pub(crate) fn meta() -> Map<String, Value> {
    serde_json::from_str(META).unwrap_or_default()
}

/// Returns the schema name of a kind: the group's labels in reverse order; for built-in kinds the name of the
/// Go package.
pub(crate) fn name(definition: &Definition, version: &str, kind: &str) -> String {
    let group = definition.group.as_str();
    if !definition.built_in {
        let labels: Vec<&str> = group.split('.').rev().collect();
        return format!("{}.{version}.{kind}", labels.join("."));
    }
    match group {
        "apiextensions.k8s.io" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
        }
        _ => types::openapi_name(&types::name_of(group, version, kind)),
    }
}

fn kinds(definition: &Definition, version: &Version, kind: &str) -> Value {
    json!([{"group": definition.group, "kind": kind, "version": version.name}])
}

fn text(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}

fn reference(name: &str, description: &str) -> Value {
    json!({"allOf": [{"$ref": format!("{PREFIX}{name}")}], "description": description})
}

/// Adds the schema of an object and all schemas that it refers to.
pub(crate) fn add_object(definition: &Definition, version: &Version, components: &mut Map<String, Value>) {
    let name = name(definition, &version.name, &definition.kind);
    if let Structure::Known(schema) = &version.schema
        && types::components(schema.name(), components)
        && let Some(Value::Object(fields)) = components.get_mut(&name)
    {
        let description = format!("{} in {}.", definition.kind, definition.api_version(&version.name));
        fields.insert("description".into(), description.into());
        fields.insert("x-kubernetes-group-version-kind".into(), kinds(definition, version, &definition.kind));
        type_fields(fields, "The object's metadata.");
        return;
    }
    components.insert(name, object(definition, version));
}

/// Returns the schema of an object that is defined by a CustomResourceDefinition.
fn object(definition: &Definition, version: &Version) -> Value {
    let mut schema = match machinery::decode::own(version.schema_text.as_bytes()) {
        Ok(Value::Object(source)) => Value::Object(source),
        _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    publish(&mut schema);
    let preserves = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if let Value::Object(fields) = &mut schema {
        fields.insert("x-kubernetes-group-version-kind".into(), kinds(definition, version, &definition.kind));
        fields.insert("type".into(), "object".into());
        // Field schemas of a non-structural schema are not enforced, and therefore not published.
        if preserves && !definition.built_in {
            fields.remove("properties");
            fields.remove("required");
        }
        type_fields(fields, "The object's metadata.");
    }
    schema
}

fn type_fields(fields: &mut Map<String, Value>, metadata: &str) {
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    properties["apiVersion"] = text(API_VERSION);
    properties["kind"] = text(KIND);
    properties["metadata"] = reference(OBJECT_META, metadata);
}

/// Returns the schema of a list.
pub(crate) fn list(definition: &Definition, version: &Version, item: &str) -> Value {
    json!({
        "description": format!("{} is a list of {}", definition.list_kind, definition.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text(API_VERSION), "kind": text(KIND),
            "items": {
                "description": format!("The objects, in the order of their names. See {}.", definition.kind),
                "type": "array", "items": {"$ref": format!("{PREFIX}{item}")},
            },
            "metadata": reference(LIST_META, "The list's metadata."),
        },
        "x-kubernetes-group-version-kind": kinds(definition, version, &definition.list_kind),
    })
}

/// Adds to a schema from a CustomResourceDefinition what OpenAPI needs explicitly and the definition only
/// implies.
fn publish(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        fields.remove("type");
        fields.entry("anyOf").or_insert_with(|| json!([{"type": "integer"}, {"type": "string"}]));
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(publish);
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get_mut(nested) {
            publish(schema);
        }
    }
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        type_fields(fields, "The metadata of the embedded object.");
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            for field in ["kind", "apiVersion"] {
                if !required.iter().any(|one| one == field) {
                    required.push(field.into());
                }
            }
        }
    }
}
