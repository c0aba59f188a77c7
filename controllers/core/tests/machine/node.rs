//! Labels and annotations that a Machine sets on its Node.

use cluster_core::machine;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::{annotation, bare, infrastructure, node, running};

#[test]
fn labels_and_annotations_reach_the_node_and_leave_it() {
    let labels = json!({"node-role.kubernetes.io/worker": "", "sub.node.cluster.x-k8s.io/a": "1", "app": "x",
        "x.node-restriction.kubernetes.io/b": "2", "evilnode.cluster.x-k8s.io/c": "3",
        "owner.node.cluster.x-k8s.io": "4", "x.node-role.kubernetes.io/d": "5"});
    let annotations = json!({"node.cluster.x-k8s.io/note": "n", "other": "o"});
    let before = json!({"metadata": {"name": "m", "labels": {"node-role.kubernetes.io/old": "", "mine": "y"},
        "annotations": {"cluster.x-k8s.io/labels-from-machine": "node-role.kubernetes.io/old"}}, "spec": {"providerID": "id"}});
    let found = node(&running(json!({"labels": labels, "annotations": annotations}), json!({}), before));
    let keys: Vec<&str> = found.metadata.labels.iter().flatten().map(|(key, _)| key.as_str()).collect();
    let synced = [
        "node-role.kubernetes.io/worker",
        "owner.node.cluster.x-k8s.io",
        "sub.node.cluster.x-k8s.io/a",
        "x.node-restriction.kubernetes.io/b",
    ];
    assert_eq!(keys, [vec!["mine"], synced.to_vec()].concat());
    assert_eq!(annotation(&found, "labels-from-machine"), Some(synced.join(",").as_str()));
    assert_eq!(annotation(&found, "annotations-from-machine"), Some("node.cluster.x-k8s.io/note"));
    assert_eq!(engine::object::annotation(&found, "other"), None);
    let again = running(
        json!({"labels": labels, "annotations": annotations}),
        json!({}),
        serde_json::to_value(&found).unwrap(),
    );
    assert!(machine::plan(&again).node.is_none(), "nothing is written at rest");
}

#[test]
fn a_node_names_its_machine_and_the_owner() {
    let owner = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "set", "uid": "s", "controller": true}]);
    let owned = node(&running(json!({"ownerReferences": owner}), json!({}), bare()));
    let of = |node: &Node| {
        ["cluster-name", "cluster-namespace", "machine", "owner-kind", "owner-name"]
            .map(|name| annotation(node, name).map(str::to_owned))
    };
    let texts = |list: [&str; 5]| list.map(|text| Some(text.to_owned()));
    assert_eq!(of(&owned), texts(["c", "default", "m", "MachineSet", "set"]));
    assert_eq!(annotation(&owned, "annotations-from-machine"), Some(""));
    let alone = node(&running(json!({}), json!({}), serde_json::to_value(owned).unwrap()));
    assert_eq!(of(&alone)[3..], [None, None]);
}

#[test]
fn the_node_of_an_interruptible_machine_has_a_label() {
    let mut observed = running(json!({}), json!({}), bare());
    observed.infrastructure =
        infrastructure(json!({"initialization": {"provisioned": true}, "interruptible": true}));
    let plan = machine::plan(&observed);
    let labels = plan.node.unwrap().metadata.labels.unwrap();
    assert!(labels.contains_key("cluster.x-k8s.io/interruptible"));
    assert!(plan.events.iter().any(|event| event.reason == "SuccessfulSetInterruptibleNodeLabel"));
}
