//! Finds the differences between two JSON structures.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// A difference between this project's definition and the original one.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Name of the CustomResourceDefinition.
    pub crd: String,
    /// The path, for example `/versions/v1beta2/schema/properties/spec`.
    pub path: String,
    /// The value in this project's definition; `None` if absent.
    pub ours: Option<Value>,
    /// The value in the original definition; `None` if absent.
    pub upstream: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        write!(f, "{} {}: ours {}, upstream {}", self.crd, self.path, text(&self.ours), text(&self.upstream))
    }
}

/// Returns every difference between this project's CustomResourceDefinition and the original one in `data/`.
pub fn compare(ours: &Value, upstream: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    let name = upstream["name"].as_str().unwrap_or_default();
    let flat = flatten(ours);
    let mut upstream = upstream.clone();
    if upstream["labels"].is_null() {
        upstream["labels"] = serde_json::json!({});
    }
    upstream["versions"] = by_name(&upstream["versions"]);
    walk(name, String::new(), Some(&flat), Some(&upstream), &mut found);
    found
}

/// Returns a CustomResourceDefinition in the layout of `data/`, without descriptions.
fn flatten(crd: &Value) -> Value {
    let spec = &crd["spec"];
    let mut versions = spec["versions"].clone();
    for version in versions.as_array_mut().into_iter().flatten() {
        let mut schema = version["schema"]["openAPIV3Schema"].take();
        remove_prose(&mut schema);
        version["schema"] = schema;
    }
    let empty = serde_json::json!({});
    serde_json::json!({
        "name": crd["metadata"]["name"],
        "group": spec["group"],
        "scope": spec["scope"],
        "names": spec["names"],
        "labels": crd["metadata"].get("labels").unwrap_or(&empty),
        "annotations": crd["metadata"].get("annotations").unwrap_or(&empty),
        "conversion": spec["conversion"],
        "versions": by_name(&versions),
    })
}

/// Turns a list of named objects into a map.
fn by_name(list: &Value) -> Value {
    let named = |entry: &Value| Some((entry["name"].as_str()?.to_owned(), entry.clone()));
    Value::Object(list.as_array().into_iter().flatten().filter_map(named).collect())
}

/// Removes the descriptions and messages of a schema, but not properties named `description`.
fn remove_prose(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("description");
    for rule in schema.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut).into_iter().flatten()
    {
        rule.as_object_mut().and_then(|rule| rule.remove("message"));
    }
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        remove_prose(property.1);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(key) {
            remove_prose(inner);
        }
    }
}

fn walk(
    crd: &str,
    path: String,
    ours: Option<&Value>,
    upstream: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    if let (Some(Value::Object(a)), Some(Value::Object(b))) = (ours, upstream) {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys {
            walk(crd, format!("{path}/{}", key.replace('/', "~")), a.get(key), b.get(key), found);
        }
    } else if normal(&path, ours) != normal(&path, upstream) {
        found.push(Difference {
            crd: crd.to_owned(),
            path,
            ours: ours.cloned(),
            upstream: upstream.cloned(),
        });
    }
}

/// Normalises a value: the order of `required` and `enum` has no meaning, and an empty list of columns means
/// the same as none.
fn normal(path: &str, value: Option<&Value>) -> Option<Value> {
    match value {
        Some(Value::Array(list)) if path.ends_with("/additionalPrinterColumns") && list.is_empty() => None,
        Some(Value::Array(list)) if path.ends_with("/required") || path.ends_with("/enum") => {
            let mut list = list.clone();
            list.sort_by_key(Value::to_string);
            Some(Value::Array(list))
        }
        other => other.cloned(),
    }
}
