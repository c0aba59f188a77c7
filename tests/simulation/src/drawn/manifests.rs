//! The manifests of a drawn cluster: `examples/self-healing.yaml` with other names, sizes and limits.

use anyhow::Result;
use firstlight::manifests::read::{Document, parse};
use serde_json::{Value, json};

use super::classes;
use super::script::ClusterShape;

const EXAMPLE: &str = include_str!("../../../../examples/self-healing.yaml");

/// The Kubernetes versions of a cluster, one after the other.
pub const VERSIONS: [&str; 3] = ["v1.34.0", "v1.35.0", "v1.36.0"];

/// Returns the manifests of a cluster.
///
/// # Errors
/// The example is not valid YAML.
pub fn cluster(shape: &ClusterShape) -> Result<Vec<Document>> {
    if shape.is_of_class { classes::cluster(shape) } else { without_class(shape) }
}

/// Returns how many workers may be unhealthy: a number or a percentage.
pub(super) fn limit(shape: &ClusterShape) -> Value {
    shape.unhealthy.parse::<i64>().map_or_else(|_| shape.unhealthy.into(), Value::from)
}

fn without_class(shape: &ClusterShape) -> Result<Vec<Document>> {
    let mut documents = parse("self-healing.yaml", &EXAMPLE.replace("healing", &shape.name))?;
    for document in &mut documents {
        let object = &mut document.object;
        object["metadata"]["namespace"] = shape.namespace.into();
        let is_of_workers = object["metadata"]["name"] == format!("{}-workers", shape.name);
        match object["kind"].as_str() {
            Some("KubeadmControlPlane") => {
                object["spec"]["replicas"] = shape.control_plane.into();
                object["spec"]["version"] = VERSIONS[0].into();
            }
            Some("MachineDeployment") => {
                object["spec"]["replicas"] = shape.workers.into();
                object["spec"]["template"]["spec"]["version"] = VERSIONS[0].into();
                let limits = json!({"maxSurge": shape.surge, "maxUnavailable": shape.unavailable});
                object["spec"]["rollout"] =
                    json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": limits}});
            }
            Some("DevMachineTemplate") => start_within(object, shape.startup),
            Some("MachineHealthCheck") if is_of_workers => {
                object["spec"]["remediation"]["triggerIf"] =
                    json!({"unhealthyLessThanOrEqualTo": limit(shape)});
            }
            _ => {}
        }
    }
    Ok(documents)
}

/// Sets the duration of the start of each part.
pub(super) fn start_within(template: &mut Value, seconds: u64) {
    let parts = template["spec"]["template"]["spec"]["backend"]["inMemory"].as_object_mut();
    for part in parts.into_iter().flat_map(|parts| parts.values_mut()) {
        part["provisioning"] = json!({"startupDuration": format!("{seconds}s"), "startupJitter": "0.3"});
    }
}
