//! Tests of `engine::patch`.

mod difference;

use engine::patch::difference::changed_conditions;
use engine::patch::merge_conditions;
use serde_json::json;

#[test]
fn conditions_merge_by_type() {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let read = [condition("Ready", "False"), condition("Gate", "False"), condition("Old", "True")];
    let wanted = [condition("Ready", "True"), condition("Gate", "True")];
    let latest = [
        condition("Ready", "Unknown"),
        condition("Gate", "Unknown"),
        condition("New", "True"),
        condition("Old", "True"),
    ];
    let changed = changed_conditions(&read, &wanted);
    let merged = merge_conditions(&read, &latest, &changed, &["Ready"]);
    let expected = [condition("Ready", "True"), condition("Gate", "Unknown"), condition("New", "True")];
    assert_eq!(merged, expected, "owned wins, others keep the latest, removed goes");
}
