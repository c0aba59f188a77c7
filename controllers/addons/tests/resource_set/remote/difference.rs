//! Tests of `addons::resource_set::remote::difference`.

use addons::resource_set::remote::difference::difference;
use serde_json::{Value, json};

#[test]
fn what_others_wrote_stays_and_what_the_manifest_dropped_goes() {
    let current = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "1"}, "status": {"x": 1},
        "metadata": {
            "name": "m", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [],
            "labels": {"mine": "1", "others": "1"}, "finalizers": ["others"],
        },
    });
    let manifest = |change: Value| {
        let mut manifest = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "1"},
            "metadata": {"name": "m", "labels": {"mine": "1"}},
        });
        manifest.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        manifest
    };
    for (change, expected) in [
        (json!({}), None),
        (json!({"status": {"x": 2}}), None),
        (json!({"metadata": {"name": "m"}}), None),
        (json!({"data": {"a": "2"}}), Some(json!({"data": {"a": "2", "b": null}}))),
        (json!({"immutable": true}), Some(json!({"immutable": true}))),
        (
            json!({"metadata": {"name": "m", "labels": {"mine": "2"}, "annotations": {"new": "1"}}}),
            Some(json!({"metadata": {"labels": {"mine": "2"}, "annotations": {"new": "1"}}})),
        ),
        (
            json!({"metadata": {"name": "m", "finalizers": ["mine"]}}),
            Some(json!({"metadata": {"finalizers": ["mine"]}})),
        ),
    ] {
        assert_eq!(difference(&current, &manifest(change.clone())), expected, "{change}");
    }
}
