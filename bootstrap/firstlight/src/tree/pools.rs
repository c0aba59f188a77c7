//! The entries of MachinePools, which have no condition that says whether all their machines are there. Pure.

use machinery::clock::parse_rfc3339;
use serde_json::Value;

use super::model::{Entry, State, key, replicas};

/// Returns whether the MachinePool has all its machines, each with a ready Node.
pub fn is_complete(pool: &Value) -> bool {
    pool["status"]["phase"] == "Running"
        && pool["status"]["observedGeneration"] == pool["metadata"]["generation"]
}

/// Returns whether a MachinePool controls the Machine.
pub fn owns(pool: &Value, machine: &Value) -> bool {
    let owners = machine["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    owners.any(|owner| owner["kind"] == "MachinePool" && owner["name"] == pool["metadata"]["name"])
}

/// Returns the entry of a MachinePool.
pub fn entry(pool: &Value) -> Entry {
    let status = &pool["status"];
    let state = if pool["metadata"]["deletionTimestamp"].is_string() {
        State::Deleting
    } else if is_complete(pool) {
        State::Good
    } else {
        State::Waiting
    };
    let ready = status["deprecated"]["v1beta1"]["conditions"].as_array();
    let ready = ready.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let since = ready.unwrap_or(&Value::Null)["lastTransitionTime"].as_str();
    Entry {
        depth: 1,
        key: key(pool),
        label: format!("MachinePool {}", pool["metadata"]["name"].as_str().unwrap_or_default()),
        state,
        summary: replicas(pool),
        causes: if state == State::Good { Vec::new() } else { vec![cause(status)] },
        since: since.or(pool["metadata"]["creationTimestamp"].as_str()).and_then(parse_rfc3339),
        starts: None,
    }
}

fn cause(status: &Value) -> String {
    match status["phase"].as_str() {
        None => "its first reconcile",
        Some("Pending") => "its bootstrap data do not exist yet",
        Some("Provisioning") => "its infrastructure is not provisioned",
        Some("Failed") => {
            let message = status["deprecated"]["v1beta1"]["failureMessage"].as_str();
            message.unwrap_or("it has failed")
        }
        Some("Deleting") => "its machines are being deleted",
        Some(_) => "not all of its machines have a ready Node",
    }
    .to_owned()
}
