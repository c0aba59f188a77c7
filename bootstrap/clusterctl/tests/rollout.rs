//! Tests of `clusterctl::rollout`.

use chrono::{DateTime, Utc};
use clusterctl::rollout::{Action, Kind, check, reference};
use engine::names::PAUSED;
use serde_json::{Value, json};

#[test]
fn states_in_which_nothing_is_done() {
    let now: DateTime<Utc> = "2026-01-01T12:00:00Z".parse().unwrap();
    let deployment = |spec: Value| json!({"metadata": {}, "spec": spec});
    let paused = json!({"metadata": {"annotations": {PAUSED: ""}}, "spec": {}});
    let (md, kcp) = (Kind::MachineDeployment, Kind::KubeadmControlPlane);
    let cases = [
        (Action::Restart, md, deployment(json!({})), true),
        (Action::Restart, md, deployment(json!({"paused": true})), false),
        (Action::Restart, md, deployment(json!({"rollout": {"after": "2026-01-01T12:00:01Z"}})), false),
        (Action::Restart, md, deployment(json!({"rollout": {"after": "2026-01-01T12:00:00Z"}})), true),
        (Action::Pause, md, deployment(json!({"paused": false})), true),
        (Action::Pause, md, deployment(json!({"paused": true})), false),
        (Action::Resume, md, deployment(json!({})), false),
        (Action::Restart, kcp, paused.clone(), false),
        (Action::Pause, kcp, paused.clone(), false),
        (Action::Resume, kcp, paused, true),
        (Action::Resume, kcp, deployment(json!({"paused": true})), false),
    ];
    for (action, kind, object, expected) in cases {
        assert_eq!(check(action, kind, &object, now).is_ok(), expected, "{action:?} {kind:?} {object}");
    }
}

#[test]
fn references() {
    assert_eq!(reference("MachineDeployment/MD").unwrap(), ("machinedeployment".to_owned(), "md".to_owned()));
    for wrong in ["md", "a/b/c", "/x", "x/"] {
        assert!(reference(wrong).is_err(), "{wrong}");
    }
}
