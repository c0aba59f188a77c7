//! Tests of `state`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use metal::names::{DETACHED, PAUSED};
use metal::state::{HostState, NetworkBoot, network_boot, reboot_refusal};
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::{Value, json};

fn host(state: &str, annotations: Value) -> BareMetalHost {
    serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": { "name": "a", "namespace": "default", "annotations": annotations },
        "spec": { "online": true },
        "status": {
            "provisioning": { "state": state },
            "operationHistory": { "provision": { "start": "2026-11-22T09:00:00Z" } },
        },
    }))
    .unwrap()
}

#[test]
fn each_state_has_its_boot() {
    let agent = |action: &str, id: &str| -> Agent {
        let instruction = json!({ "id": id, "action": action });
        serde_json::from_value(json!({
            "apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent",
            "metadata": { "name": "52-54-00-00-00-01" }, "spec": { "instruction": instruction },
        }))
        .unwrap()
    };
    let now = "restart/2026-11-22T09:00:00Z";
    let cases = [
        ("", None, NetworkBoot::Agent),
        ("registering", None, NetworkBoot::Agent),
        ("inspecting", Some(agent("Restart", "restart/2026-11-22T08:00:00Z")), NetworkBoot::Agent),
        ("available", None, NetworkBoot::Agent),
        ("deprovisioning", None, NetworkBoot::Agent),
        ("provisioning", None, NetworkBoot::Agent),
        ("provisioning", Some(agent("Deploy", "deploy/2026-11-22T09:00:00Z")), NetworkBoot::Agent),
        ("provisioning", Some(agent("Restart", "restart/2026-11-21T09:00:00Z")), NetworkBoot::Agent),
        ("provisioning", Some(agent("Restart", now)), NetworkBoot::Disk),
        ("provisioned", None, NetworkBoot::Disk),
        ("externally provisioned", None, NetworkBoot::Disk),
        ("unmanaged", None, NetworkBoot::Disk),
        ("deleting", None, NetworkBoot::Disk),
    ];
    for (state, agent, expected) in cases {
        assert_eq!(network_boot(&host(state, json!({})), agent.as_ref()), expected, "{state}");
        let detached = host(state, json!({ DETACHED: "" }));
        assert_eq!(network_boot(&detached, agent.as_ref()), NetworkBoot::Disk, "{state}, detached");
    }
}

#[test]
fn who_heeds_a_restart() {
    for (state, annotation, force, heeded) in [
        ("provisioned", None, false, true),
        ("externally provisioned", None, false, true),
        ("available", None, false, false),
        ("available", None, true, true),
        ("inspecting", None, true, true),
        ("deleting", None, true, false),
        ("unmanaged", None, true, false),
        ("provisioned", Some(PAUSED), true, false),
        ("provisioned", Some(DETACHED), true, false),
    ] {
        let annotations = annotation.map_or(json!({}), |key| json!({ key: "" }));
        let refusal = reboot_refusal(&host(state, annotations), force);
        assert_eq!(refusal.is_none(), heeded, "{state} {annotation:?} {force}");
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    for state in HostState::ALL {
        assert_eq!(HostState::from_name(state.name()), state);
    }
    assert_eq!(HostState::from_name("asleep"), HostState::Unknown);
    assert_eq!(HostState::of(&BareMetalHost::default()), HostState::New);
}
