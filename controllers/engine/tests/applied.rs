//! Tests of `engine::applied`.

use engine::testing::contains;
use serde_json::json;

#[test]
fn drift_is_seen() {
    let whole = json!({"metadata": {"ownerReferences": [{"uid": "1"}, {"uid": "2", "name": "b"}], "labels": {"a": "1", "b": "2"}},
        "spec": {"replicas": 3, "gates": [{"type": "x"}]}, "status": {}});
    assert!(contains(
        &whole,
        &json!({"metadata": {"ownerReferences": [{"uid": "2"}], "labels": {"a": "1"}}})
    ));
    assert!(contains(&whole, &json!({"spec": {"gates": [{"type": "x"}], "none": {}}})));
    assert!(!contains(&whole, &json!({"spec": {"replicas": 2}})));
    assert!(!contains(&whole, &json!({"spec": {"gates": []}})));
    assert!(!contains(&whole, &json!({"metadata": {"ownerReferences": [{"uid": "3"}]}})));
}
