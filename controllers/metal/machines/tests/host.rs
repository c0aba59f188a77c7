//! Tests of `host`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use engine::object::annotation;
use metal::names::{PAUSED, PAUSED_BY_PROVIDER, STATUS};
use metal_machines::host::{set_pause, unpause};
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};

fn host(annotations: Value, status: Value) -> BareMetalHost {
    serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": {}, "status": status}))
        .unwrap()
}

#[test]
fn a_paused_host_has_a_status_that_metal3_accepts() {
    let status = json!({
        "operationalStatus": "servicing", "errorType": "servicing error", "errorMessage": "no answer",
        "provisioning": {"state": "provisioned"}, "hardware": {"hostname": "h"},
    });
    let mut paused = host(json!({}), status);
    set_pause(&mut paused, PAUSED_BY_PROVIDER).unwrap();
    assert_eq!(annotation(&paused, PAUSED), Some(PAUSED_BY_PROVIDER));
    let told: Value = serde_json::from_str(annotation(&paused, STATUS).unwrap()).unwrap();
    assert_eq!((&told["operationalStatus"], &told["errorType"]), (&json!("OK"), &Value::Null));
    assert_eq!((&told["provisioning"]["state"], &told["hardware"]), (&json!("provisioned"), &Value::Null));
    unpause(&mut paused, PAUSED_BY_PROVIDER);
    assert_eq!(annotation(&paused, PAUSED), None);
}

#[test]
fn the_pause_of_somebody_else_stays() {
    let mut paused = host(json!({PAUSED: "me"}), json!({}));
    set_pause(&mut paused, PAUSED_BY_PROVIDER).unwrap();
    unpause(&mut paused, PAUSED_BY_PROVIDER);
    assert_eq!((annotation(&paused, PAUSED), annotation(&paused, STATUS)), (Some("me"), None));
}
