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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pool_tells_what_it_waits_for() {
        let pool = |phase: Value| {
            json!({"kind": "MachinePool", "metadata": {"namespace": "default", "name": "workers", "generation": 2},
                "spec": {"replicas": 3}, "status": {"phase": phase, "availableReplicas": 1, "observedGeneration": 2}})
        };
        for (phase, state, cause) in [
            (Value::Null, State::Waiting, "its first reconcile"),
            (json!("Provisioning"), State::Waiting, "its infrastructure is not provisioned"),
            (json!("ScalingUp"), State::Waiting, "not all of its machines have a ready Node"),
            (json!("Running"), State::Good, ""),
        ] {
            let entry = entry(&pool(phase));
            assert_eq!((entry.state, entry.causes.join("").as_str()), (state, cause));
            assert_eq!(
                (entry.label.as_str(), entry.summary.as_str()),
                ("MachinePool workers", "1/3 available")
            );
        }
        let mut changed = pool(json!("Running"));
        changed["metadata"]["generation"] = json!(3);
        assert!(!is_complete(&changed), "the new spec was not observed yet");
    }

    #[test]
    fn machines_of_a_pool() {
        let pool = json!({"metadata": {"name": "workers"}});
        let machine =
            |kind: &str| json!({"metadata": {"ownerReferences": [{"kind": kind, "name": "workers"}]}});
        assert!(owns(&pool, &machine("MachinePool")) && !owns(&pool, &machine("MachineSet")));
        assert!(!owns(&pool, &json!({"metadata": {}})));
    }
}
