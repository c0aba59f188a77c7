//! Columns of Nodes.

use serde_json::{Value, json};

use super::cells;

#[test]
fn status_and_roles() {
    let condition = |status: &str| json!([{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": status}]);
    let cases = [
        (condition("True"), json!({}), json!({}), "Ready", "<none>"),
        (condition("False"), json!({"node-role.kubernetes.io/": ""}), json!({}), "NotReady", "<none>"),
        (condition("Unknown"), json!({"kubernetes.io/role": "edge"}), json!({}), "NotReady", "edge"),
        (
            condition("True"),
            json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}),
            json!({"unschedulable": true}),
            "Ready,SchedulingDisabled",
            "control-plane,worker",
        ),
        (json!([]), json!({}), json!({"unschedulable": true}), "Unknown,SchedulingDisabled", "<none>"),
    ];
    for (conditions, labels, spec, status, roles) in cases {
        let node = json!({"metadata": {"name": "n", "labels": labels}, "spec": spec,
                          "status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": "v1.35.0"}}});
        let expected = json!(["n", status, roles, "<unknown>", "v1.35.0"]);
        assert_eq!(Value::from(&cells("", "Node", &node)[..5]), expected, "{node}");
    }
}

#[test]
fn wide() {
    let node = json!({"status": {
        "addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {"osImage": "Linux", "kernelVersion": "6.1", "containerRuntimeVersion": ""},
    }});
    let expected = json!(["10.0.0.1", "<none>", "Linux", "6.1", "<unknown>"]);
    assert_eq!(Value::from(&cells("", "Node", &node)[5..]), expected);
}
