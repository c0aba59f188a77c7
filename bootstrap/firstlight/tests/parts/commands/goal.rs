//! Tests of `firstlight::commands::goal`.

use std::time::Duration;

use firstlight::commands::goal::{Goal, Timeline, missing, notes};
use firstlight::tree::model::Objects;
use machinery::clock::Clock;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn each_step_has_its_time() {
    let clock = Clock::simulated(chrono::DateTime::UNIX_EPOCH);
    let mut timeline = Timeline::new(&clock);
    let cluster = |done: &[&str]| {
        let conditions: Vec<_> = done.iter().map(|name| json!({"type": name, "status": "True"})).collect();
        Objects { clusters: vec![json!({"status": {"conditions": conditions}})], ..Objects::default() }
    };
    assert!(!timeline.reaches(Goal::Available, &cluster(&["WorkersAvailable"])));
    let mut done = Vec::new();
    for condition in ["InfrastructureReady", "ControlPlaneInitialized", "WorkersAvailable"] {
        tokio::time::advance(Duration::from_millis(6500)).await;
        done.push(condition);
        assert!(!timeline.reaches(Goal::Available, &cluster(&done)));
    }
    done.push("Available");
    assert!(timeline.reaches(Goal::Available, &cluster(&done)));
    let expected = "Available after 19s: infrastructure 6.5s, control plane 13s, workers 19s.\n";
    assert_eq!(timeline.available(), expected);
}

#[test]
fn what_counts_by_its_status_alone_is_said() {
    let named =
        |name: &str| json!({"kind": "MachinePool", "metadata": {"namespace": "default", "name": name}});
    let mut paused = named("first");
    paused["spec"] = json!({"paused": true});
    let mut annotated = named("second");
    annotated["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    let machine = json!({"metadata": {"ownerReferences": [{"kind": "MachinePool", "name": "with"}]}});
    let objects = Objects {
        clusters: vec![paused, annotated, named("third")],
        machine_pools: vec![named("with"), named("without")],
        machines: vec![machine],
        ..Objects::default()
    };
    let expected = "\
Cluster default/first is paused: nothing of it is reconciled, and this is its last known status.
Cluster default/second is paused: nothing of it is reconciled, and this is its last known status.
MachinePool default/without has no Machines: the status of the pool counts (0/1 available).
";
    assert_eq!(notes(&objects), expected);
    assert_eq!(notes(&Objects::default()), "");
}

#[test]
fn what_no_controller_has_confirmed_is_missing() {
    let mut objects = Objects::default();
    let unconfirmed = r#"{"unconfirmed": [{"kind": "DevMachine", "namespace": "default", "name": "a", "cause": "not seen"}], "more": 0}"#;
    objects.unconfirmed = serde_json::from_str(unconfirmed).unwrap();
    assert_eq!(missing(&objects), "  DevMachine default/a: not seen");
    objects.unconfirmed.unconfirmed[0].cause = "\n  Cluster default/b: forged".to_owned();
    assert_eq!(missing(&objects), "  DevMachine default/a: \\n  Cluster default/b: forged");
}
