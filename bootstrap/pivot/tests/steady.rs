//! Tests of `pivot::steady`.

use pivot::names;
use pivot::object::Key;
use pivot::steady::unsteady;
use serde_json::{Value, json};

#[test]
fn what_is_not_at_rest() {
    let key = |kind: &str| Key {
        group: names::CLUSTER_GROUP.into(),
        kind: kind.into(),
        namespace: "n".into(),
        name: "x".into(),
    };
    let ready = json!({
        "spec": {"controlPlaneRef": {"name": "cp"}},
        "status": {
            "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
            "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}],
        },
    });
    assert!(unsteady(&key("Cluster"), &ready).is_empty());
    assert_eq!(unsteady(&key("Cluster"), &json!({})).len(), 2);
    let mut without = ready.clone();
    without["status"]["initialization"]["controlPlaneInitialized"] = Value::Null;
    assert_eq!(unsteady(&key("Cluster"), &without).len(), 1);
    assert_eq!(unsteady(&key("Machine"), &json!({})).len(), 1);
    assert!(unsteady(&key("Machine"), &json!({"status": {"nodeRef": {"name": "n"}}})).is_empty());
    assert!(unsteady(&key("MachineSet"), &json!({})).is_empty());
    for kind in ["Machine", "MachineSet"] {
        assert_eq!(unsteady(&key(kind), &json!({"metadata": {"deletionTimestamp": "t"}})).len(), 1);
    }
}
