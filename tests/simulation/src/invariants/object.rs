//! Reads objects as the store has them.

use machinery::splice;
use serde_json::Value;

/// Label with the name of the Cluster.
pub const CLUSTER: &str = "cluster.x-k8s.io/cluster-name";
/// Label with the name of the MachineDeployment.
pub const DEPLOYMENT: &str = "cluster.x-k8s.io/deployment-name";
/// Label with the name of the KubeadmControlPlane.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane-name";

/// Returns whether the rules look at objects with this key.
pub fn is_relevant(key: &str) -> bool {
    let is_core = ["secrets/", "configmaps/"].iter().any(|kind| {
        key.strip_prefix("/registry/").is_some_and(|rest| rest.trim_start_matches("core/").starts_with(kind))
    });
    is_core || key.split('/').nth(2).is_some_and(|group| group.ends_with("cluster.x-k8s.io"))
}

/// Reads an object without its `managedFields`, which no rule looks at.
pub fn read(text: &[u8]) -> Option<Value> {
    let fields = splice::range(text, "metadata").and_then(|metadata| {
        let fields = splice::range(text.get(metadata.clone())?, "managedFields")?;
        Some(metadata.start + fields.start..metadata.start + fields.end)
    });
    match fields {
        Some(fields) => {
            serde_json::from_slice(&[&text[..fields.start], b"null", &text[fields.end..]].concat()).ok()
        }
        None => serde_json::from_slice(text).ok(),
    }
}

/// Returns a label of an object.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"][key].as_str()
}

/// Returns an annotation of an object.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Returns whether an object is being deleted.
pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns the name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Returns the namespace of an object.
pub fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// Returns a number, or a percentage of `replicas`, as MachineDeployments have them.
pub(super) fn amount(value: &Value, replicas: i64, default: i64, round_up: bool) -> i64 {
    match value {
        Value::Number(number) => number.as_i64().unwrap_or(default),
        Value::String(text) => {
            let percent = text.trim_end_matches('%').parse::<i64>().unwrap_or_default();
            (percent * replicas + if round_up { 99 } else { 0 }) / 100
        }
        _ => default,
    }
}

/// Returns namespace and name of the Cluster that an object belongs to.
pub(super) fn cluster_key(object: &Value) -> Option<String> {
    let cluster = label(object, CLUSTER).or_else(|| (object["kind"] == "Cluster").then(|| name(object)))?;
    Some(format!("{}/{cluster}", namespace(object)))
}

/// Returns namespace and name of an object.
pub(super) fn object_key(object: &Value) -> String {
    format!("{}/{}", namespace(object), name(object))
}
