//! The cluster that all scenarios use: `examples/first-cluster.yaml` with other numbers.

use firstlight::manifests::read::{Document, parse};
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("../../../examples/first-cluster.yaml");

/// What a scenario wants of the cluster at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Control plane machines.
    pub control_plane: i64,
    /// Workers.
    pub workers: i64,
    /// Kubernetes version of both.
    pub version: &'static str,
}

/// The manifests of a cluster of that shape.
///
/// # Errors
/// Where the example is not YAML.
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

/// What does not depend on chance in the objects of a cluster that has come to rest: kinds, how many, versions, phases,
/// conditions. Names, times and identities are left out.
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
