//! Tests of `firstlight::tree::hosts`.

use firstlight::tree::hosts::entries;
use firstlight::tree::model::{Objects, State};
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};

fn host(state: &str, status: Value) -> BareMetalHost {
    let mut host =
        json!({"metadata": {"namespace": "metal", "name": "a", "annotations": {}}, "status": status});
    host["status"]["provisioning"]["state"] = state.into();
    serde_json::from_value(host).unwrap()
}

#[test]
fn each_host_says_what_it_waits_for() {
    let agent = json!({
        "spec": {"hostRef": {"namespace": "metal", "name": "a"}, "instruction": {"id": "deploy/1", "action": "Deploy"}},
        "status": {"instruction": {"id": "deploy/1", "state": "Running", "message": "writing the image", "bytesDone": 45, "bytesTotal": 100}},
    });
    let operator =
        json!({"conditions": [{"type": "WaitingForOperator", "status": "True", "message": "switch on a"}]});
    let cases = [
        (host("provisioned", json!({"poweredOn": true})), State::Good, "provisioned, power on", ""),
        (
            host("provisioning", json!({})),
            State::Waiting,
            "provisioning, power off",
            "writing the image, 45 %",
        ),
        (host("inspecting", operator), State::Waiting, "inspecting, power off", "switch on a"),
        (
            host(
                "available",
                json!({"operationalStatus": "error", "errorType": "power management error", "errorMessage": "no answer"}),
            ),
            State::Waiting,
            "available, power off",
            "power management error: no answer",
        ),
    ];
    for (host, state, summary, waiting_for) in cases {
        let objects = Objects {
            hosts: vec![host],
            agents: vec![serde_json::from_value(agent.clone()).unwrap()],
            ..Objects::default()
        };
        let found = entries(&objects);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].causes.join("; "), waiting_for);
        assert_eq!((found[0].state, found[0].summary.as_str()), (state, summary));
    }
}

#[test]
fn unknown_machines_wait_for_approval() {
    let agent = json!({"metadata": {"name": "52-54-00-00-00-01"}, "status": {"address": "10.0.0.9"}});
    let found =
        entries(&Objects { agents: vec![serde_json::from_value(agent).unwrap()], ..Objects::default() });
    assert_eq!(found[0].causes.join("; "), "approval: firstlight metal approve 52-54-00-00-00-01");
}
