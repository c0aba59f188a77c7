//! Apply configurations of the objects of a topology.

use cluster_topology::cluster::configuration::{incompatible, of};
use serde_json::json;

#[test]
fn only_what_a_topology_decides_about() {
    let desired = json!({"apiVersion": "a/v1", "kind": "K", "status": {"x": 1},
        "metadata": {"name": "n", "namespace": "d", "labels": {"l": ""}, "resourceVersion": "7", "finalizers": ["f"]},
        "spec": {"y": 2}});
    let expected = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "namespace": "d", "labels": {"l": ""}},
        "spec": {"y": 2}});
    assert_eq!(of(&desired, None), expected);
    let current = json!({"metadata": {"uid": "u"}});
    assert_eq!(of(&desired, Some(&current))["metadata"]["uid"], "u");
}

#[test]
fn kinds_do_not_change() {
    let of =
        |kind: &str| json!({"apiVersion": "a/v1", "kind": kind, "metadata": {"name": "n", "namespace": "d"}});
    let newer = json!({"apiVersion": "a/v2", "kind": "K", "metadata": {"name": "n", "namespace": "d"}});
    assert_eq!(incompatible(&of("K"), &newer), None);
    assert!(incompatible(&of("K"), &of("L")).is_some());
}
