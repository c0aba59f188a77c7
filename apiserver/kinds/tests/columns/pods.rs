//! Columns of Pods.

use serde_json::{Value, json};

use super::{NOW, cells};

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        if value.is_object() { merge(&mut into[key], value) } else { into[key] = value.clone() }
    }
}

/// Returns the cells Ready, Status and Restarts of a Pod with one container for each element of
/// `statuses`.
fn shown(statuses: &Value, more: &Value) -> Value {
    let containers = vec![json!({}); statuses.as_array().unwrap().len()];
    let mut pod = json!({
        "metadata": {"name": "p", "creationTimestamp": NOW},
        "spec": {"containers": containers},
        "status": {"phase": "Running", "containerStatuses": statuses},
    });
    merge(&mut pod, more);
    Value::from(&cells("", "Pod", &pod)[1..4])
}

#[test]
fn containers_decide() {
    let runs = json!({"ready": true, "restartCount": 0, "state": {"running": {}}});
    let done = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    let waits = json!({"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                       "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}});
    let code = json!({"state": {"terminated": {"exitCode": 2}}});
    let signal = json!({"state": {"terminated": {"exitCode": 2, "signal": 9}}});
    let deleted = json!({"metadata": {"deletionTimestamp": NOW}});
    let lost = json!({"metadata": {"deletionTimestamp": NOW}, "status": {"reason": "NodeLost"}});
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let gated = json!({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}});
    let none = json!({});
    let cases = [
        (json!([runs]), &none, json!(["1/1", "Running", "0"])),
        (json!([{"ready": true}]), &none, json!(["0/1", "Running", "0"])),
        (json!([runs, waits]), &none, json!(["1/2", "CrashLoopBackOff", "3 (60s ago)"])),
        (json!([done, runs]), &none, json!(["1/2", "NotReady", "0"])),
        (json!([done, runs]), &ready, json!(["1/2", "Running", "0"])),
        (json!([code]), &none, json!(["0/1", "ExitCode:2", "0"])),
        (json!([signal]), &none, json!(["0/1", "Signal:9", "0"])),
        (json!([runs]), &deleted, json!(["1/1", "Terminating", "0"])),
        (json!([runs]), &lost, json!(["1/1", "Unknown", "0"])),
        (json!([]), &gated, json!(["0/0", "SchedulingGated", "0"])),
    ];
    for (statuses, more, expected) in cases {
        assert_eq!(shown(&statuses, more), expected, "{statuses} {more}");
    }
}

#[test]
fn init_containers_come_first() {
    let init = |statuses: Value, policy: &str| {
        json!({"spec": {"initContainers": [{"name": "a", "restartPolicy": policy}, {"name": "b"}]},
               "status": {"phase": "Pending", "initContainerStatuses": statuses}})
    };
    let ended =
        |code: i64| json!({"name": "a", "restartCount": 1, "state": {"terminated": {"exitCode": code}}});
    let waits = json!({"name": "b", "state": {"waiting": {"reason": "PodInitializing"}}});
    let pulls = json!({"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}});
    let sidecar =
        json!({"name": "a", "started": true, "ready": true, "restartCount": 2, "state": {"running": {}}});
    let cases = [
        (init(json!([ended(0), waits]), ""), json!(["0/1", "Init:1/2", "1"])),
        (init(json!([ended(1)]), ""), json!(["0/1", "Init:ExitCode:1", "1"])),
        (init(json!([pulls]), ""), json!(["0/1", "Init:ImagePullBackOff", "0"])),
        (init(json!([sidecar, waits]), "Always"), json!(["1/2", "Init:1/2", "2"])),
        (init(json!([ended(0)]), ""), json!(["0/1", "Pending", "0"])),
    ];
    for (more, expected) in cases {
        assert_eq!(shown(&json!([{}]), &more), expected, "{more}");
    }
}

#[test]
fn wide() {
    let pod = json!({
        "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
        "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "b", "status": "True"}]},
    });
    assert_eq!(Value::from(&cells("", "Pod", &pod)[5..]), json!(["10.0.0.1", "n", "<none>", "1/2"]));
    assert_eq!(
        Value::from(&cells("", "Pod", &json!({}))[5..]),
        json!(["<none>", "<none>", "<none>", "<none>"])
    );
}
