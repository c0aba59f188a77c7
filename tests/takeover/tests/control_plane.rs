//! Tests of `takeover::control_plane`.

use serde_json::json;
use takeover::control_plane::{errors, example, not_true};

#[test]
fn errors_about_etcd_are_found() {
    let log =
        "I1126 1 a.go:1] etcd is fine\nE1126 1 a.go:1] \"Failed to dial etcd\"\nE1126 1 b.go:2] \"other\"";
    assert_eq!(errors(log), ["E1126 1 a.go:1] \"Failed to dial etcd\""]);
}

#[test]
fn conditions_that_are_not_true_are_named() {
    let object = json!({"kind": "Machine", "metadata": {"name": "a"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Up", "status": "False"}]}});
    assert_eq!(not_true(&object, &["Ready"]), None);
    assert!(not_true(&object, &["Ready", "Up"]).unwrap().contains("Up is {"));
    assert!(not_true(&object, &["Absent"]).unwrap().contains("Absent is null"));
}

#[test]
fn the_example_is_read() {
    assert!(example().unwrap().iter().any(|object| object["kind"] == "KubeadmControlPlane"));
}
