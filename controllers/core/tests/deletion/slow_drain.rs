//! Drains of unreachable Nodes, and drains that take long.

use std::sync::Arc;

use cluster_core::machine::{self, Eviction, LastEviction};
use engine::NamespacedName;
use schemas::HasConditions;
use serde_json::json;

use super::drain::{DONE, label, pod, with};
use super::{now, read};

/// A kubelet that does not report confirms no deletion: its Pods get a second.
#[test]
fn an_unreachable_node_is_not_waited_for() {
    let node = json!({"metadata": {"name": "m"},
        "spec": {"providerID": "id", "unschedulable": true, "taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "volumesAttached": [{"name": "v", "devicePath": ""}]}});
    let gone = |at: &str| json!({"metadata": {"deletionTimestamp": at}});
    let rows = [
        (
            "not yet deleted",
            json!({}),
            vec![Eviction {
                pod: NamespacedName::new("n", "p"),
                uid: String::new(),
                grace: Some(1),
                warnings: vec![],
            }],
            "DrainingNode",
        ),
        ("for a second", gone("2026-11-20T23:59:59Z"), vec![], "DrainingNode"),
        ("for longer", gone("2026-11-20T23:59:58Z"), vec![], DONE),
    ];
    for (what, more, evict, reason) in rows {
        let node = machine::NodeState::Found(read(node.clone()));
        let plan = machine::plan(&machine::Observed { node, ..with(vec![pod("p", more)]) });
        assert_eq!(plan.evict, evict, "{what}");
        assert_eq!(plan.machine.condition("Deleting").unwrap().reason, reason, "{what}");
    }
}

/// `Ready` says after 15 minutes that the deletion is slow, and after 5 minutes of drain why.
#[test]
fn a_slow_drain_is_explained() {
    let rows = [
        ("23:46:00", "23:46:00", "* Deleting: Machine deletion in progress, stage: DrainingNode"),
        (
            "23:44:00",
            "23:56:00",
            "* Deleting: Machine deletion in progress since more than 15m, stage: DrainingNode",
        ),
        (
            "23:44:00",
            "23:44:00",
            "* Deleting: Machine deletion in progress since more than 15m, stage: DrainingNode, delay likely due to PodDisruptionBudgets, Pods not terminating, Pod eviction errors, Pods not completed yet",
        ),
    ];
    for (deleted, drained, expected) in rows {
        let gone = json!({"metadata": {"deletionTimestamp": "2026-11-20T23:59:50Z"}});
        let list =
            vec![pod("a", json!({})), pod("b", json!({})), pod("c", label("wait-completed")), pod("d", gone)];
        let mut observed = with(list);
        let refused =
            ["cannot evict pod as it would violate the pod's disruption budget.", "failed to evict Pod, no"];
        for (name, refused) in ["a", "b"].into_iter().zip(refused) {
            let last = LastEviction { at: now(), refused: Some(refused.to_owned()) };
            observed.evictions.insert(NamespacedName::new("n", name), last);
        }
        let machine = Arc::make_mut(&mut observed.machine);
        machine.metadata.deletion_timestamp =
            serde_json::from_value(json!(format!("2026-11-20T{deleted}Z"))).unwrap();
        let status = json!({"nodeRef": {"name": "m"}, "deletion": {"nodeDrainStartTime": format!("2026-11-20T{drained}Z")}});
        machine.status = Some(serde_json::from_value(status).unwrap());
        let plan = machine::plan(&observed);
        let message = plan.machine.condition("Ready").unwrap().message.clone();
        assert_eq!(message.lines().next(), Some(expected));
    }
}
