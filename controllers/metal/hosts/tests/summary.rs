//! Tests of `summary`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use metal::summary::{HostSummary, work};
use schemas::netboot::Agent;
use serde_json::{Value, json};

fn agent(action: &str, progress: Value) -> Agent {
    let agent = json!({
        "spec": {
            "hostRef": { "namespace": "site", "name": "a" },
            "instruction": { "id": "7", "action": action },
        },
        "status": { "instruction": progress },
    });
    serde_json::from_value(agent).unwrap()
}

#[test]
fn an_agent_works() {
    let running = |rest: Value| {
        let mut progress = json!({ "id": "7", "state": "Running" });
        progress.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        progress
    };
    let written = json!({ "message": "writing the image to /dev/vda", "bytesDone": 32, "bytesTotal": 100 });
    let most = json!({ "bytesDone": i64::MAX, "bytesTotal": i64::MAX });
    let cases = [
        ("Wait", Value::Null, "waiting"),
        ("Inspect", Value::Null, "inspecting the machine"),
        ("Inspect", json!({ "id": "6", "state": "Done" }), "inspecting the machine"),
        ("Inspect", running(json!({ "message": "" })), "inspecting the machine"),
        ("Inspect", json!({ "id": "7", "state": "Done" }), "inspected the machine"),
        ("Clean", running(json!({})), "cleaning the disks"),
        ("Clean", running(json!({ "message": "cleaning /dev/vda" })), "cleaning /dev/vda"),
        ("Clean", running(json!({ "bytesDone": 20 << 20 })), "cleaning the disks, 20 MiB"),
        ("Clean", running(json!({ "bytesDone": 0, "bytesTotal": 0 })), "cleaning the disks"),
        ("Clean", json!({ "id": "7", "state": "Failed" }), "cleaning the disks failed"),
        ("Deploy", running(json!({})), "writing the image"),
        ("Deploy", running(written), "writing the image to /dev/vda, 32 %"),
        ("Deploy", running(most), "writing the image, 100 %"),
        ("Restart", running(json!({})), "restarting"),
        ("Restart", json!({ "id": "7", "state": "Done", "message": "the machine goes down" }), "restarted"),
        ("PowerOff", running(json!({})), "switching off"),
    ];
    for (action, progress, expected) in cases {
        let (said, is_busy) = work(&agent(action, progress.clone()));
        assert_eq!(said, expected, "{action} {progress}");
        let is_over = action == "Wait" || (progress["id"] == "7" && progress["state"] != "Running");
        assert_eq!(is_busy, !is_over, "{action} {progress}");
    }
    assert_eq!(work(&Agent::default()), (String::new(), false));
}

#[test]
fn a_host_waits() {
    let asked = json!([{ "type": "WaitingForOperator", "status": "True", "message": "switch it on" }]);
    let paused = json!({ "baremetalhost.metal3.io/paused": "" });
    let booting = json!({ "metal.firstlight.dev/booting": "2026-11-22T09:00:00Z" });
    let off = json!({ "online": false, "image": { "url": "http://a/b" } });
    // Annotations, spec, and the fields of the status besides the state.
    let cases = [
        (Value::Null, json!({}), "", json!({}), "", false),
        (Value::Null, json!({}), "provisioned", json!({}), "", true),
        (
            paused,
            json!({}),
            "provisioned",
            json!({}),
            "paused: remove the annotation baremetalhost.metal3.io/paused",
            true,
        ),
        (Value::Null, json!({}), "available", json!({ "conditions": asked }), "switch it on", false),
        (
            booting.clone(),
            json!({}),
            "inspecting",
            json!({ "operationalStatus": "error", "errorType": "inspection error", "errorMessage": "silence" }),
            "inspection error: silence",
            false,
        ),
        (booting, json!({}), "inspecting", json!({}), "its start over the network", false),
        (Value::Null, off, "available", json!({}), "being switched on: set spec.online to true", true),
    ];
    for (annotations, spec, stage, mut status, waiting_for, rests) in cases {
        status["provisioning"]["state"] = stage.into();
        let metadata = json!({ "namespace": "site", "name": "a", "annotations": annotations });
        let host = json!({ "metadata": metadata, "spec": spec, "status": status });
        let said = HostSummary::of(&serde_json::from_value(host.clone()).unwrap(), &[]);
        assert_eq!((said.waiting_for.as_str(), said.is_settled), (waiting_for, rests), "{host}");
    }
    let host = |name: &str| json!({ "metadata": { "namespace": "site", "name": name } });
    let agents = [agent("Wait", Value::Null)];
    let said = |name: &str| HostSummary::of(&serde_json::from_value(host(name)).unwrap(), &agents).agent;
    assert_eq!((said("a").as_str(), said("b").as_str()), ("waiting", ""));
}
