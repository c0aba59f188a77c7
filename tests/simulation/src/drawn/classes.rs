//! Drawn clusters of a class. Each has a class of its own, and a second one that it can be rebased to, both from `data/topology/class.yaml`.

use anyhow::Result;
use firstlight::manifests::read::{Document, parse};
use serde_json::{Value, json};

use super::manifests::{VERSIONS, limit, start_within};
use super::script::ClusterShape;

const CLASS: &str = include_str!("../../data/topology/class.yaml");
const CLUSTER: &str = include_str!("../../data/topology/cluster.yaml");
/// The names in the file of the class, which get that of the class in front.
const NAMES: [&str; 4] = ["infrastructure", "control-plane", "workers", "small"];

/// Returns the manifests of both classes and of the cluster.
///
/// # Errors
/// The files are not valid YAML.
pub fn cluster(shape: &ClusterShape) -> Result<Vec<Document>> {
    let mut documents = class(shape, false)?;
    documents.extend(class(shape, true)?);
    let mut cluster = parse("cluster.yaml", CLUSTER)?;
    for document in &mut cluster {
        let object = &mut document.object;
        object["metadata"] = json!({"name": shape.name, "namespace": shape.namespace});
        let topology = &mut object["spec"]["topology"];
        topology["classRef"]["name"] = class_name(shape, false).into();
        topology["version"] = VERSIONS[0].into();
        topology["controlPlane"]["replicas"] = shape.control_plane.into();
        topology["workers"] = workers(Some(shape.workers));
    }
    documents.extend(cluster);
    Ok(documents)
}

/// Returns the name of a class.
pub(super) fn class_name(shape: &ClusterShape, is_second: bool) -> String {
    format!("{}-{}-small", shape.name, if is_second { "second" } else { "first" })
}

/// Returns the manifests of a class. The workers of the second one have another bootstrap template.
fn class(shape: &ClusterShape, is_second: bool) -> Result<Vec<Document>> {
    let prefix = class_name(shape, is_second);
    let prefix = prefix.trim_end_matches("small");
    let text = NAMES.iter().fold(CLASS.to_owned(), |text, name| {
        text.replace(&format!("name: {name}}}"), &format!("name: {prefix}{name}}}"))
    });
    let text = if is_second { text.replace("available<0%", "available<1%") } else { text };
    let mut documents = parse("class.yaml", &text)?;
    for document in &mut documents {
        let object = &mut document.object;
        object["metadata"]["namespace"] = shape.namespace.into();
        match object["kind"].as_str() {
            Some("DevMachineTemplate") => start_within(object, shape.startup),
            Some("ClusterClass") => check_health(&mut object["spec"], shape),
            _ => {}
        }
    }
    Ok(documents)
}

/// Sets the health checks and the strategy, which are those of clusters without a class.
fn check_health(class: &mut Value, shape: &ClusterShape) {
    let conditions =
        ["Unknown", "False"].map(|status| json!({"type": "Ready", "status": status, "timeoutSeconds": 5}));
    let checks = json!({"nodeStartupTimeoutSeconds": 60, "unhealthyNodeConditions": conditions});
    class["controlPlane"]["healthCheck"] = json!({"checks": checks});
    let remediation = json!({"triggerIf": {"unhealthyLessThanOrEqualTo": limit(shape)}});
    let workers = &mut class["workers"]["machineDeployments"][0];
    workers["healthCheck"] = json!({"checks": checks, "remediation": remediation});
    let limits = json!({"maxSurge": shape.surge, "maxUnavailable": shape.unavailable});
    workers["rollout"] = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": limits}});
}

/// Returns the workers of a topology; `None` has none.
pub(super) fn workers(replicas: Option<i64>) -> Value {
    replicas.map_or(
        Value::Null,
        |replicas| json!({"machineDeployments": [{"class": "worker", "name": "md-0", "replicas": replicas}]}),
    )
}
