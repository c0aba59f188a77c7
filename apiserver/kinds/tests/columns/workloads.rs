//! Columns of workload kinds.

use serde_json::{Value, json};

use super::cells;

#[test]
fn workloads_count() {
    let deployment = json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 1}});
    let shown = cells("apps", "Deployment", &deployment);
    assert_eq!(Value::from(&shown[1..4]), json!(["2/3", 1, 0]));
    let daemon_set = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b", "c": "d"}}}},
                            "status": {"desiredNumberScheduled": 4, "numberReady": 3}});
    let shown = cells("apps", "DaemonSet", &daemon_set);
    assert_eq!(Value::from(&shown[1..7]), json!([4, 0, 3, 0, 0, "a=b,c=d"]));
}

#[test]
fn revisions_name_their_controller() {
    let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true});
    let revision = json!({"metadata": {"ownerReferences": [owner]}, "revision": 3});
    let shown = cells("apps", "ControllerRevision", &revision);
    assert_eq!(Value::from(&shown[1..3]), json!(["daemonset.apps/d", 3]));
}
