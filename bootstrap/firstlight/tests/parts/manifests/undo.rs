//! Tests of `firstlight::manifests::undo`.

use firstlight::manifests::undo::{CONFLICT, VALUE_CHARACTERS, conflicts, value_at};
use serde_json::json;

#[test]
fn long_values_are_cut() {
    let object = json!({"spec": {"long": "x".repeat(100), "replicas": 3}});
    assert_eq!(value_at(&object, "spec.long").chars().count(), VALUE_CHARACTERS + 1);
    assert_eq!(value_at(&object, "spec.replicas"), "3");
    assert_eq!(value_at(&object, "spec.paused"), "none");
}

#[test]
fn only_values_of_others_are_undone() {
    let cause = |field: &str, manager: &str| json!({"reason": CONFLICT, "field": field, "message": format!("conflict with {manager}")});
    let scale = "\"kubectl\" with subresource \"scale\" using v1 at 2026-11-23T10:00:00Z";
    let status = json!({"details": {"causes": [
        cause(".spec.replicas", scale),
        cause(".spec.version", "\"kubectl\""),
        cause(".spec.paused", "\"kubectl\""),
        cause(".spec.paused", "\"kubectl-edit\" using v1"),
        {"reason": "FieldValueInvalid", "field": "spec.x", "message": "conflict with nothing"},
    ]}});
    let found = conflicts(&serde_json::from_value(status).unwrap());
    let manager = "\"kubectl\" with subresource \"scale\"".to_owned();
    assert_eq!(found, [("spec.replicas".to_owned(), vec![manager])]);
}
