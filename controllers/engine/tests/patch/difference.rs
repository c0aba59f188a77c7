//! Tests of `engine::patch::difference`.

use engine::patch::{Difference, difference};
use serde_json::{Value, json};

#[test]
fn only_the_difference() {
    let from = json!({"metadata": {"name": "a", "resourceVersion": "1", "labels": {"x": "1", "y": "2"}}, "spec": {"a": 1}});
    let to = json!({"metadata": {"name": "a", "resourceVersion": "1", "labels": {"x": "1"}}, "spec": {"a": 1, "b": 1}});
    let expected = json!({"metadata": {"labels": {"y": null}}, "spec": {"b": 1}});
    assert_eq!(difference(&from, &to).main, Some(expected));
    assert_eq!(difference(&from, &from), Difference::default());
}

#[test]
fn lists_are_replaced_only_as_read() {
    let from = json!({"metadata": {"resourceVersion": "7"}});
    let to = json!({"metadata": {"resourceVersion": "7", "finalizers": ["f"]}});
    let expected = json!({"metadata": {"finalizers": ["f"], "resourceVersion": "7"}});
    assert_eq!(difference(&from, &to).main, Some(expected));
}

fn with_status(status: Value) -> Value {
    json!({"metadata": {"name": "a"}, "status": status})
}

#[test]
fn texts_are_what_only_people_read() {
    let ready = |status: &str, reason: &str, message: &str| json!({"type": "Ready", "status": status, "reason": reason, "message": message});
    let old = |status: &str, reason: &str, message: &str| json!({"v1beta1": {"conditions": [ready(status, reason, message)]}});
    let from = json!({"conditions": [ready("False", "NotReady", "one")], "deprecated": old("False", "A", "one"), "replicas": 1});
    let cases = [
        ("a message", json!([ready("False", "NotReady", "two")]), old("False", "A", "one"), 1, true),
        ("a reason", json!([ready("False", "Other", "one")]), old("False", "A", "one"), 1, false),
        ("a status", json!([ready("True", "NotReady", "")]), old("False", "A", "one"), 1, false),
        ("a condition goes", json!([]), old("False", "A", "one"), 1, false),
        (
            "a deprecated reason",
            json!([ready("False", "NotReady", "one")]),
            old("False", "B", "two"),
            1,
            true,
        ),
        ("a deprecated status", json!([ready("False", "NotReady", "one")]), old("True", "A", ""), 1, false),
        (
            "a deprecated condition goes",
            json!([ready("False", "NotReady", "one")]),
            json!({"v1beta1": {"conditions": []}}),
            1,
            false,
        ),
        (
            "an observed generation",
            json!([{"type": "Ready", "status": "False", "reason": "NotReady", "message": "one", "observedGeneration": 2}]),
            old("False", "A", "one"),
            1,
            true,
        ),
        ("a counter", json!([ready("False", "NotReady", "two")]), old("False", "B", "two"), 2, false),
    ];
    let from = with_status(from);
    for (case, conditions, deprecated, replicas, expected) in cases {
        let to =
            with_status(json!({"conditions": conditions, "deprecated": deprecated, "replicas": replicas}));
        assert_eq!(difference(&from, &to).is_text(&from), expected, "{case}");
    }
    let mut new = from.clone();
    new["status"]["conditions"].as_array_mut().unwrap().push(json!({"type": "Available", "status": "True"}));
    assert!(!difference(&from, &new).is_text(&from), "a new condition");
    new = from.clone();
    new["metadata"]["labels"] = json!({"a": "b"});
    assert!(!difference(&from, &new).is_text(&from), "a label");
}
