//! Tests of `takeover::providers::cluster`.

use serde_json::json;
use takeover::providers::cluster::other;

#[test]
fn a_condition_with_another_status_is_named() {
    let object = json!({"kind": "Cluster", "metadata": {"name": "a"}, "status": {"conditions": [{"type": "Available", "status": "True"}]}});
    assert_eq!(other(&object, "Available", "True"), None);
    assert!(other(&object, "Available", "False").unwrap().starts_with("Available of \"Cluster\" \"a\" is {"));
    assert!(other(&object, "RollingOut", "False").unwrap().ends_with("is null"));
}
