//! Tests of `machine::node`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use engine::NamespacedName;
use k8s_openapi::api::core::v1::Node;
use metal_machines::machine::node::{HOSTNAME, Identity, NodeState, find, machine_of, provider_id};
use metal_machines::names::HOST_UUID;
use serde_json::json;

const ID: &str = "metal3://metal/rack1/m-0";

fn node(name: &str, uuid: &str, id: &str) -> Arc<Node> {
    let value = json!({
        "metadata": {"name": name, "labels": {HOST_UUID: uuid, HOSTNAME: name}},
        "spec": {"providerID": id},
    });
    Arc::new(serde_json::from_value(value).unwrap())
}

#[test]
fn nodes_are_found_by_label_and_by_provider_id() {
    let cases = [
        ("no node", Vec::new(), None, "absent"),
        ("another host's", vec![node("a", "u2", "")], None, "absent"),
        ("label", vec![node("a", "u1", "")], None, "a"),
        ("provider ID", vec![node("b", "", ID)], None, "b"),
        ("older provider ID", vec![node("c", "", "metal3://u1")], None, "c"),
        ("both on one", vec![node("d", "u1", ID)], None, "d"),
        ("labelled, another ID", vec![node("e", "u1", "metal3://metal/rack2/m-1")], None, "wrong"),
        ("two", vec![node("f", "u1", ""), node("g", "", ID)], None, "wrong"),
        ("host name", vec![node("h", "", "")], Some("h"), "h"),
    ];
    for (case, nodes, hostname, expected) in cases {
        let identity = Identity { provider_id: ID, host_uid: "u1", hostname };
        let found = match find(&nodes, &identity) {
            NodeState::Found(node) => node.metadata.name.clone().unwrap(),
            NodeState::Wrong(_) => "wrong".to_owned(),
            NodeState::Absent => "absent".to_owned(),
            NodeState::NotConnected => unreachable!(),
        };
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn a_provider_id_names_its_machine() {
    let machine = NamespacedName::new("metal", "m-0");
    assert_eq!(provider_id(&machine, "rack1"), ID);
    assert_eq!(machine_of(ID), Some(machine));
    for other in ["metal3://u1", "aws:///a/b/c", "metal3://a/b/c/d", ""] {
        assert_eq!(machine_of(other), None, "{other}");
    }
}
