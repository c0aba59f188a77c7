//! Counters, phase and conditions of a MachinePool.

use super::*;

fn counters(observed: &Observed) -> [Option<i32>; 4] {
    let status = plan(observed).wanted.status.unwrap();
    [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas]
}

#[test]
fn with_machines_their_conditions_count() {
    let conditions = |types: &[&str]| {
        let list = types.iter().map(|it| json!({"type": it, "status": "True", "reason": "x", "message": "", "lastTransitionTime": EPOCH}));
        ("/status/conditions", Value::Array(list.collect()))
    };
    let version = |version: &str| ("/spec/version", json!(version));
    let machines = vec![
        machine("x", &[conditions(&["Ready", "Available", "UpToDate"]), version("v1.36.0")]),
        machine("y", &[conditions(&["Ready", "UpToDate"]), version("v1.35.0")]),
        machine("z", &[]),
    ];
    let observed = Observed { machines, ..observed(pool(&[])) };
    assert_eq!(counters(&observed), [Some(2), Some(2), Some(1), Some(2)]);
    let versions = serde_json::to_value(plan(&observed).wanted.status.unwrap().versions).unwrap();
    assert_eq!(
        versions,
        json!([{"version": "v1.35.0", "replicas": 1}, {"version": "v1.36.0", "replicas": 1}])
    );
}

#[test]
fn without_machines_the_infrastructure_counts() {
    let observed = observed(pool(&[("/spec/replicas", json!(3))]));
    assert_eq!(counters(&observed), [Some(2), Some(2), Some(2), Some(3)]);
    let status = plan(&observed).wanted.status.unwrap();
    assert_eq!(
        serde_json::to_value(status.versions).unwrap(),
        json!([{"version": "v1.36.0", "replicas": 2}])
    );
    assert_eq!(status.observed_generation, Some(3));
}

#[test]
fn phases() {
    let managed = ("/metadata/annotations", json!({"cluster.x-k8s.io/replicas-managed-by": ""}));
    let replicas = |count: i32| ("/spec/replicas", json!(count));
    let nothing = || infrastructure(json!({}));
    let ready = || infrastructure(json!({"ready": true, "replicas": 2}));
    let odd = || {
        Reference::Found(external(
            "Pool",
            "workers",
            json!({"spec": {"providerIDList": ["a", "b"]}, "status": {"ready": true}}),
        ))
    };
    let no_data = ("/spec/template/spec/bootstrap", json!({}));
    let gone = ("/metadata/deletionTimestamp", json!(EPOCH));
    for (changes, infrastructure, phase) in [
        (vec![no_data], nothing(), "Pending"),
        (vec![], nothing(), "Provisioning"),
        (vec![], ready(), "Running"),
        (vec![replicas(3)], ready(), "ScalingUp"),
        (vec![replicas(1)], ready(), "ScalingDown"),
        (vec![replicas(3), managed], odd(), "Scaling"),
        (vec![gone], ready(), "Deleting"),
    ] {
        let plan = plan(&Observed { infrastructure, ..observed(pool(&changes)) });
        assert_eq!(plan.wanted.status.unwrap().phase.as_deref(), Some(phase), "{changes:?}");
    }
}

#[test]
fn the_numbers_and_conditions_of_older_clients() {
    let sick = ("/status/conditions", json!([{"type": "Ready", "status": "False"}]));
    let new = (
        "/status/conditions",
        json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T00:09:30Z"}]),
    );
    let rows = [
        (vec![], [2, 2, 0], "True", None, None),
        (vec![sick], [1, 1, 1], "False", Some("WaitingForReplicasReady"), None),
        (vec![new], [2, 1, 1], "True", None, Some(30)),
    ];
    for (changes, numbers, ready, reason, again) in rows {
        let nodes = Some(vec![node("node-a", "a", &changes), node("node-b", "b", &[])]);
        let seconds = ("/spec/template/spec/minReadySeconds", json!(60));
        let plan = plan(&Observed { nodes, ..observed(pool(&[seconds])) });
        let deprecated = plan.wanted.status.unwrap().deprecated.unwrap().v1beta1.unwrap();
        let found =
            [deprecated.ready_replicas, deprecated.available_replicas, deprecated.unavailable_replicas];
        assert_eq!(found, numbers.map(Some));
        let types: Vec<&str> = deprecated.conditions.iter().map(|it| it.type_.as_str()).collect();
        assert_eq!(types, ["Ready", "BootstrapReady", "InfrastructureReady", "ReplicasReady"]);
        let first = &deprecated.conditions[0];
        assert_eq!((first.status.as_str(), first.reason.as_deref()), (ready, reason));
        assert_eq!(plan.action.requeue_after.map(|it| it.as_secs()), again);
    }
}

#[test]
fn at_rest_nothing_changes() {
    let first = Arc::new(plan(&observed(pool(&[]))).wanted);
    let later = Observed { now: at(20), ..observed(first.clone()) };
    assert_eq!(*first, plan(&later).wanted);
}
