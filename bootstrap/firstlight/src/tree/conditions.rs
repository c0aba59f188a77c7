//! Reads the conditions of objects, as the API server returns them. Pure.

use std::collections::BTreeMap;

use engine::names::PAUSED;
use serde_json::Value;

use super::model::{Objects, key};

/// A condition that follows from other conditions and does not explain them, so it is listed last.
const CONSEQUENCE: &str = "RemoteConnectionProbe";

/// Returns the condition of this type.
pub fn condition<'a>(object: &'a Value, condition_type: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == condition_type)
}

/// Returns the conditions of all objects that can have an entry, by the key of the entry.
pub fn by_key(objects: &Objects) -> BTreeMap<String, Value> {
    let Objects {
        clusters,
        control_planes,
        infrastructure,
        machine_deployments,
        machine_pools,
        machines,
        ..
    } = objects;
    let values = [clusters, control_planes, infrastructure, machine_deployments, machine_pools, machines];
    let hosts = objects.hosts.iter().filter_map(|host| serde_json::to_value(host).ok());
    let agents = objects.agents.iter().filter_map(|agent| serde_json::to_value(agent).ok());
    let all = values.into_iter().flatten().cloned().chain(hosts).chain(agents);
    all.map(|mut object| (key(&object), object["status"]["conditions"].take())).collect()
}

/// Returns whether the object has this condition, and it is true.
pub fn is_true(object: &Value, condition_type: &str) -> bool {
    condition(object, condition_type).is_some_and(|condition| condition["status"] == "True")
}

/// Returns whether an infrastructure object, or any other of a provider, says that it is provisioned, in one of the contract's versions.
pub fn is_provisioned(object: &Value) -> bool {
    object["status"]["initialization"]["provisioned"] == true || object["status"]["ready"] == true
}

/// Returns whether nothing is reconciled of the cluster, so that its status is that of an earlier time.
pub fn is_paused(cluster: &Value) -> bool {
    cluster["spec"]["paused"] == true || cluster["metadata"]["annotations"][PAUSED].is_string()
}

/// Returns the causes in the condition's message, each on one line; or its reason if it has no message. Messages of summaries have a
/// list item for each cause, with nested items.
pub fn causes(condition: &Value) -> Vec<String> {
    let text = condition["message"].as_str().unwrap_or_default();
    let mut causes: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let nested = line.starts_with(' ');
        let line = line.trim().trim_start_matches("* ");
        match causes.last_mut().filter(|_| nested) {
            Some(cause) => {
                cause.push_str(if cause.ends_with(':') { " " } else { "; " });
                cause.push_str(line);
            }
            None => causes.push(line.to_owned()),
        }
    }
    if causes.is_empty() {
        causes.extend(condition["reason"].as_str().filter(|reason| !reason.is_empty()).map(str::to_owned));
    }
    causes.sort_by_key(|cause| cause.starts_with(CONSEQUENCE));
    causes
}
