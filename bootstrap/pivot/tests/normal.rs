//! Tests of `pivot::normal`.

use pivot::normal::{difference, fingerprint, managers, normal};
use serde_json::json;

#[test]
fn only_what_must_arrive_is_compared() {
    let source = json!({
        "kind": "Cluster",
        "metadata": {"name": "c", "uid": "1", "generation": 7, "labels": {"a": "b"}, "annotations": {}},
        "spec": {"paused": true, "x": [1, 2]},
        "status": {"observedGeneration": 7, "conditions": [
            {"type": "Paused", "status": "True"}, {"type": "Ready", "observedGeneration": 7, "status": "True"}]},
    });
    let target = json!({
        "kind": "Cluster",
        "metadata": {"name": "c", "uid": "2", "generation": 1, "labels": {"a": "b"}},
        "spec": {"x": [1, 2]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    assert_eq!(difference(&normal(source.clone()), &normal(target.clone())), None);
    assert_eq!(fingerprint(source.clone()), fingerprint(target.clone()));
    let cases = [
        ("/metadata/labels/a", "metadata.labels.a"),
        ("/spec/x/1", "spec.x[1]"),
        ("/status/conditions/0/status", "status.conditions[0].status"),
    ];
    for (pointer, expected) in cases {
        let mut changed = target.clone();
        *changed.pointer_mut(pointer).unwrap() = "other".into();
        assert_eq!(difference(&normal(source.clone()), &normal(changed)).as_deref(), Some(expected));
    }
    let mut missing = target;
    missing["spec"] = json!({});
    assert_eq!(difference(&normal(source), &normal(missing)).as_deref(), Some("spec.x"));
}

#[test]
fn times_of_managers_do_not_matter() {
    let with = |time: &str| json!({"metadata": {"managedFields": [{"manager": "m", "time": time}]}});
    assert_eq!(managers(&with("1")), managers(&with("2")));
    assert_ne!(managers(&with("1")), managers(&json!({"metadata": {}})));
}
