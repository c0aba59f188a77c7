//! Tests of `agents::instruction`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use agent_protocol::{Action, Erase, Instruction};
use metal_provisioning::agents::instruction::{instruction, is_same};
use schemas::netboot::Agent;
use serde_json::{Value, json};

fn agent(spec: Value, boot: &str) -> Agent {
    serde_json::from_value(json!({
        "metadata": { "name": "a" },
        "spec": { "instruction": spec },
        "status": { "bootID": boot },
    }))
    .unwrap()
}

#[test]
fn instructions_are_for_one_start() {
    let deploy = json!({
        "id": "deploy/1", "action": "Deploy", "bootID": "now", "configDrive": true,
        "image": { "url": "http://a/b", "checksum": "12" },
        "rootDeviceHints": { "deviceName": "/dev/vda", "minSizeGigabytes": 4 },
    });
    assert_eq!(instruction(&agent(deploy.clone(), "earlier")), None);
    let Some(Instruction { action: Action::Deploy(deployment), .. }) = instruction(&agent(deploy, "now"))
    else {
        panic!("an instruction to deploy");
    };
    assert_eq!((deployment.image.checksum.as_str(), deployment.config_drive), ("12", true));
    assert_eq!(deployment.root_device_hints.min_size_gigabytes, Some(4));
    let clean = instruction(&agent(json!({ "id": "1", "action": "Clean", "erase": "Everything" }), "now"));
    assert_eq!(clean.map(|clean| clean.action), Some(Action::Clean { erase: Erase::Everything }));
    assert_eq!(instruction(&agent(json!({ "id": "1", "action": "Dance" }), "now")), None);
    assert!(is_same("deploy/2026-11-22T09:00:00Z", "deploy2026-11-22T090000Z"));
    assert!(!is_same("deploy/1", "deploy/2"));
}
