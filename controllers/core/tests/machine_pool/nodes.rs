//! The Nodes of a MachinePool.

use engine::steps::{Delete, Patch};

use super::*;

fn references(names: &[&str]) -> (&'static str, Value) {
    let list: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    ("/status/nodeRefs", json!(list))
}

/// The names in `status.nodeRefs`, and those of the Nodes that are deleted.
fn outcome(observed: &Observed) -> (Vec<String>, Vec<String>) {
    let plan = plan(observed);
    let deleted = plan.steps.of::<Delete<Node>>().map(|it| it.read.metadata.name.clone().unwrap());
    let deleted: Vec<String> = deleted.collect();
    let nodes = plan.wanted.status.unwrap().node_refs;
    (nodes.into_iter().filter_map(|node| node.name).collect(), deleted)
}

#[test]
fn nodes_are_found_by_their_provider_ids() {
    let (a, b) = (node("node-a", "a", &[]), node("node-b", "b", &[]));
    let retired = node("old", "z", &[]);
    let nameless = node("old", "", &[]);
    let going = node("old", "z", &[("/metadata/deletionTimestamp", json!(EPOCH))]);
    let with_old = references(&["node-a", "old"]);
    type Row<'a> = (&'a str, Vec<(&'a str, Value)>, Option<Vec<Arc<Node>>>, &'a [&'a str], &'a [&'a str]);
    let rows: [Row<'_>; 8] = [
        ("all", vec![], Some(vec![b.clone(), a.clone()]), &["node-a", "node-b"], &[]),
        ("one", vec![], Some(vec![b.clone()]), &["node-b"], &[]),
        ("none yet", vec![references(&["node-a"])], Some(vec![]), &["node-a"], &[]),
        ("out of reach", vec![references(&["node-a"])], None, &["node-a"], &[]),
        (
            "a retired one",
            vec![with_old.clone()],
            Some(vec![a.clone(), retired.clone()]),
            &["node-a"],
            &["old"],
        ),
        ("it goes already", vec![with_old.clone()], Some(vec![a.clone(), going]), &["node-a"], &[]),
        ("without provider ID", vec![with_old], Some(vec![a.clone(), nameless]), &["node-a"], &[]),
        ("somebody else's", vec![], Some(vec![a, retired]), &["node-a"], &[]),
    ];
    for (what, changes, nodes, expected, deleted) in rows {
        let found = outcome(&Observed { nodes, ..observed(pool(&changes)) });
        assert_eq!(found.0, expected, "{what}");
        assert_eq!(found.1, deleted, "{what}");
    }
}

#[test]
fn nothing_is_deleted_while_the_infrastructure_names_no_machines() {
    let infrastructure =
        Reference::Found(external("Pool", "workers", json!({"status": {"ready": true, "replicas": 2}})));
    let changes = [references(&["node-a"])];
    let found = outcome(&Observed { infrastructure, ..observed(pool(&changes)) });
    assert_eq!(found, (vec!["node-a".to_owned()], vec![]));
    let infrastructure =
        Reference::Found(external("Pool", "workers", json!({"status": {"ready": true, "replicas": 0}})));
    let found = outcome(&Observed { infrastructure, ..observed(pool(&changes)) });
    assert_eq!(found, (vec![], vec!["node-a".to_owned()]), "scaled to nothing");
}

#[test]
fn a_reference_has_kind_and_uid() {
    let plan = plan(&observed(pool(&[])));
    let first = serde_json::to_value(&plan.wanted.status.unwrap().node_refs[0]).unwrap();
    assert_eq!(first, json!({"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "node-a"}));
}

#[test]
fn what_is_set_on_a_node() {
    let taints = json!([{"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}]);
    let nodes = Some(vec![node("node-a", "a", &[("/spec/taints", taints)])]);
    let infrastructure = infrastructure(json!({"ready": true, "replicas": 2, "interruptible": true}));
    let plan = plan(&Observed { nodes, infrastructure, ..observed(pool(&[])) });
    assert_eq!(plan.steps.texts(), ["patch Pool default/workers", "patch Node node-a"]);
    let written = &plan.steps.of::<Patch<Node>>().next().unwrap().wanted;
    let wanted = serde_json::to_value(written).unwrap();
    let expected = json!({
        "cluster.x-k8s.io/cluster-name": "plain", "cluster.x-k8s.io/cluster-namespace": "default",
        "cluster.x-k8s.io/owner-kind": "MachinePool", "cluster.x-k8s.io/owner-name": "workers",
    });
    assert_eq!(wanted["metadata"]["annotations"], expected);
    assert_eq!(wanted["metadata"]["labels"], json!({"cluster.x-k8s.io/interruptible": ""}));
    assert_eq!(wanted["spec"]["taints"], json!(null));
    let nodes = Some(vec![Arc::new(written.clone())]);
    let again = super::plan(&Observed { nodes, ..observed(pool(&[])) });
    assert_eq!(again.steps.texts(), ["patch Pool default/workers"]);
}
