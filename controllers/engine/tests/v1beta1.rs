//! Tests of `engine::v1beta1`.

mod machines;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::ExternalObject;
use engine::v1beta1::{READY, Severity, is_false, is_true, is_unknown, mirror, set, summary};
use kube::core::ApiResource;
use serde_json::json;

fn at(second: &str) -> DateTime<Utc> {
    machinery::clock::parse_rfc3339(&format!("2026-11-21T00:00:{second}Z")).unwrap()
}

#[test]
fn ready_repeats_what_matters_most() {
    let mut conditions = vec![is_true("B"), is_false("C", Severity::Info, "Later", "")];
    assert_eq!(summary(&conditions, &["B", "C"]).unwrap().reason.as_deref(), Some("Later"));
    conditions.push(is_false("D", Severity::Error, "Broken", "why"));
    assert_eq!(summary(&conditions, &["B", "C", "D"]).unwrap().reason.as_deref(), Some("Broken"));
    assert_eq!(summary(&conditions, &["B"]).unwrap(), is_true(READY));
    assert_eq!(summary(&conditions, &["E"]), None);
    conditions.push(is_unknown("F", "NoAnswer", "why"));
    assert_eq!(summary(&conditions, &["F", "B"]).unwrap(), is_true(READY), "as Cluster API orders them");
    assert_eq!(summary(&conditions, &["F"]).unwrap().status, "Unknown");
}

#[test]
fn the_time_follows_every_change_and_ready_is_first() {
    let mut conditions = Vec::new();
    set(&mut conditions, at("01"), is_false("A", Severity::Info, "Waiting", "1"));
    set(&mut conditions, at("02"), is_true(READY));
    set(&mut conditions, at("03"), is_false("A", Severity::Info, "Waiting", "1"));
    let types: Vec<&str> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, [READY, "A"]);
    assert_eq!(conditions[1].last_transition_time, "2026-11-21T00:00:01Z");
    set(&mut conditions, at("04"), is_false("A", Severity::Info, "Waiting", "2"));
    assert_eq!(conditions[1].last_transition_time, "2026-11-21T00:00:04Z");
}

#[test]
fn a_provider_is_mirrored() {
    let object = |contract, status| ExternalObject {
        object: Arc::new(
            serde_json::from_value(json!({"metadata": {"name": "x"}, "status": status})).unwrap(),
        ),
        resource: ApiResource {
            group: "test".into(),
            version: "v1".into(),
            api_version: "test/v1".into(),
            kind: "Infra".into(),
            plural: "infras".into(),
        },
        contract,
    };
    let ready = json!([{"type": READY, "status": "False", "severity": "Warning", "reason": "Slow"}]);
    let newer = json!([{"type": READY, "status": "True", "reason": "Ready", "message": ""}]);
    let broken = json!([{"type": READY, "status": "yes"}]);
    // Columns: contract, status, whether the object is ready, the condition's status and reason.
    let rows = [
        ("v1beta1", json!({"conditions": ready}), true, "False", Some("Slow")),
        ("v1beta2", json!({"conditions": newer}), false, "True", Some("Ready")),
        ("v1beta2", json!({"conditions": broken}), true, "True", None),
        ("v1beta2", json!({}), false, "False", Some("Waiting")),
    ];
    for (contract, status, is_ready, expected, reason) in rows {
        let mirrored = mirror("InfraReady", &object(contract, status), is_ready, "Waiting");
        assert_eq!((mirrored.status.as_str(), mirrored.reason.as_deref()), (expected, reason));
        assert_eq!(mirrored.type_, "InfraReady");
    }
}
