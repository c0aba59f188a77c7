//! The cluster of all scenarios: `examples/first-cluster.yaml` with other replica counts and versions.

use firstlight::manifests::read::{Document, parse};
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("../../../examples/first-cluster.yaml");

/// The desired state of the cluster in a step of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of control plane machines.
    pub control_plane: i64,
    /// Number of workers.
    pub workers: i64,
    /// Kubernetes version of all machines.
    pub version: &'static str,
}

/// The manifests of a cluster in this shape.
///
/// # Errors
/// The example is not valid YAML.
pub fn cluster(shape: Shape) -> anyhow::Result<Vec<Document>> {
    let mut documents = parse("first-cluster.yaml", EXAMPLE)?;
    for document in &mut documents {
        let object = &mut document.object;
        match object["kind"].as_str() {
            Some("KubeadmControlPlane") => {
                object["spec"]["replicas"] = shape.control_plane.into();
                object["spec"]["version"] = shape.version.into();
            }
            Some("MachineDeployment") => {
                object["spec"]["replicas"] = shape.workers.into();
                object["spec"]["template"]["spec"]["version"] = shape.version.into();
            }
            _ => {}
        }
    }
    Ok(documents)
}

/// The deterministic part of the objects of an idle cluster: kinds, number of objects, versions, phases and
/// conditions. Names, times and UIDs are omitted.
pub fn at_rest(objects: &[Value]) -> Value {
    let mut rows: Vec<String> = objects.iter().map(|object| summary(object).to_string()).collect();
    rows.sort();
    Value::Array(rows.into_iter().map(Value::String).collect())
}

fn summary(object: &Value) -> Value {
    let status = &object["status"];
    let conditions: Vec<Value> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|condition| json!([condition["type"], condition["status"], condition["reason"]]))
        .collect();
    json!({
        "kind": object["kind"],
        "version": object["spec"]["version"],
        "replicas": [object["spec"]["replicas"], status["replicas"], status["readyReplicas"], status["availableReplicas"], status["upToDateReplicas"]],
        "phase": status["phase"],
        "conditions": conditions,
        "finalizers": object["metadata"]["finalizers"],
    })
}
