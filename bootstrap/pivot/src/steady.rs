//! Checks whether objects are stable enough to move.

use schemas::deletion_grace::ANNOTATION;
use serde_json::Value;

use crate::finding::Finding;
use crate::names;
use crate::object::Key;

/// Returns the reasons why an object is not ready to move: it is being deleted, or it is a Cluster or a Machine that is not ready yet
/// (contract of `clusterctl move`).
pub fn unsteady(key: &Key, object: &Value) -> Vec<Finding> {
    const WAIT: &str = "wait until it is, or delete it, then try again";
    let mut found = Vec::new();
    let mut add = |what: &str, advice: &str| found.push(Finding::error(key, what, advice));
    let is_machine = key.is(names::CLUSTER_GROUP, "Machine");
    // A copy cannot be in deletion: the object would come back to life at the target.
    if object["metadata"]["deletionTimestamp"].is_string() {
        let can_be_undone = key.is_cluster() && object["metadata"]["annotations"][ANNOTATION].is_string();
        add(
            "it is being deleted",
            match can_be_undone {
                true => {
                    "wait until it is gone, or take the deletion back with `firstlight undo cluster`, then try again"
                }
                false => "wait until it is gone, then try again",
            },
        );
        return found;
    }
    if !key.is_cluster() && !is_machine {
        return found;
    }
    let status = &object["status"];
    if is_machine {
        let node = status["nodeRef"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            add("it has no node yet", WAIT);
        }
        return found;
    }
    let initialization = &status["initialization"];
    if initialization["infrastructureProvisioned"] != true {
        add("its infrastructure is not provisioned yet", WAIT);
    }
    let initialized =
        |condition: &Value| condition["type"] == "ControlPlaneInitialized" && condition["status"] == "True";
    if !status["conditions"].as_array().is_some_and(|all| all.iter().any(initialized)) {
        add("its control plane is not initialized yet (condition ControlPlaneInitialized)", WAIT);
    } else if object["spec"]["controlPlaneRef"]["name"].is_string()
        && initialization["controlPlaneInitialized"] != true
    {
        add("its control plane is not initialized yet (status.initialization)", WAIT);
    }
    found
}
