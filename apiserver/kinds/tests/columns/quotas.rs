//! Columns of ResourceQuotas.

use serde_json::{Value, json};

use super::cells;

#[test]
fn what_is_used_of_a_quota() {
    let quota = json!({"status": {"hard": {"pods": "2", "limits.cpu": "1"}, "used": {"pods": "1"}}});
    let shown = cells("", "ResourceQuota", &quota);
    assert_eq!(Value::from(&shown[1..3]), json!(["pods: 1/2", "limits.cpu: 0/1"]));
}
