//! Tests of `firstlight::tree::pools`.

use firstlight::tree::model::State;
use firstlight::tree::pools::{entry, is_complete, owns};
use serde_json::{Value, json};

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
        assert_eq!((entry.label.as_str(), entry.summary.as_str()), ("MachinePool workers", "1/3 available"));
    }
    let mut changed = pool(json!("Running"));
    changed["metadata"]["generation"] = json!(3);
    assert!(!is_complete(&changed), "the new spec was not observed yet");
}

#[test]
fn machines_of_a_pool() {
    let pool = json!({"metadata": {"name": "workers"}});
    let machine = |kind: &str| json!({"metadata": {"ownerReferences": [{"kind": kind, "name": "workers"}]}});
    assert!(owns(&pool, &machine("MachinePool")) && !owns(&pool, &machine("MachineSet")));
    assert!(!owns(&pool, &json!({"metadata": {}})));
}
