//! Taints that a Machine sets on its Node.

use cluster_core::machine::Observed;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::{annotation, bare, node, read, running};

const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";
const OUTDATED: &str = "node.cluster.x-k8s.io/outdated-revision";

fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    taints
        .iter()
        .map(|taint| format!("{}={}:{}", taint.key, taint.value.clone().unwrap_or_default(), taint.effect))
        .collect()
}

/// Taints of the Machine: `Always` and `OnInitialization`, on a Node with and without the annotation that says
/// which ones it has from its Machine.
#[test]
fn taints_of_the_machine() {
    let taint = |key: &str, value: &str, propagation: &str| json!({"key": key, "value": value, "effect": "NoSchedule", "propagation": propagation});
    let wanted =
        json!([taint("b", "1", "Always"), taint("a", "2", "Always"), taint("i", "3", "OnInitialization")]);
    let with = |from: Option<&str>, taints: Value| {
        let mut node = json!({"metadata": {"name": "m"}, "spec": {"providerID": "id", "taints": taints}});
        if let Some(from) = from {
            node["metadata"]["annotations"] = json!({"cluster.x-k8s.io/taints-from-machine": from});
        }
        node
    };
    let on_node = |key: &str, value: &str| json!({"key": key, "value": value, "effect": "NoSchedule"});
    let both = "a:NoSchedule,b:NoSchedule";
    let rows = [
        (
            "first",
            wanted.clone(),
            with(None, json!([])),
            vec!["b=1:NoSchedule", "a=2:NoSchedule", "i=3:NoSchedule"],
            both,
        ),
        ("later", wanted.clone(), with(Some(""), json!([])), vec!["b=1:NoSchedule", "a=2:NoSchedule"], both),
        (
            "a changed value, and a stranger's taint",
            wanted.clone(),
            with(Some(both), json!([on_node("b", "old"), on_node("mine", "x"), on_node("a", "2")])),
            vec!["b=1:NoSchedule", "mine=x:NoSchedule", "a=2:NoSchedule"],
            both,
        ),
        (
            "taken away",
            json!([taint("b", "1", "OnInitialization")]),
            with(Some(both), json!([on_node("b", "1"), on_node("mine", "x"), on_node("a", "2")])),
            vec!["b=1:NoSchedule", "mine=x:NoSchedule"],
            "",
        ),
    ];
    for (what, spec, before, expected, from) in rows {
        let observed = running(json!({}), json!({"taints": spec}), before);
        let found = node(&observed);
        assert_eq!(taints(&found), expected, "{what}");
        assert_eq!(annotation(&found, "taints-from-machine"), Some(from), "{what}");
    }
    let off = Observed { propagates_taints: false, ..running(json!({}), json!({}), bare()) };
    assert_eq!(annotation(&node(&off), "taints-from-machine"), None);
}

#[test]
fn taints_of_the_rollout() {
    let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
    let revisions = |set: i64, deployment: i64, strategy: &str| {
        let metadata = |revision: i64| json!({"name": "x", "annotations": {REVISION: revision.to_string()}});
        let rollout = json!({"strategy": {"type": strategy}});
        (
            read(json!({"metadata": metadata(set)})),
            read(json!({"metadata": metadata(deployment), "spec": {"rollout": rollout}})),
        )
    };
    let rows = [
        ("current", revisions(2, 2, "RollingUpdate"), false, false),
        ("outdated", revisions(1, 2, "RollingUpdate"), false, true),
        ("current again", revisions(2, 2, "RollingUpdate"), true, false),
        ("replaced by hand", revisions(1, 2, "OnDelete"), true, false),
    ];
    for (what, (set, deployment), before, after) in rows {
        let mut list = vec![taint(UNINITIALIZED)];
        list.extend(before.then(|| taint(OUTDATED)));
        let node_before = json!({"metadata": {"name": "m"}, "spec": {"providerID": "id", "taints": list}});
        let mut observed = running(json!({}), json!({}), node_before);
        (observed.set, observed.deployment) = (Some(set), Some(deployment));
        let expected = if after { vec![format!("{OUTDATED}=:PreferNoSchedule")] } else { vec![] };
        assert_eq!(taints(&node(&observed)), expected, "{what}");
    }
}
