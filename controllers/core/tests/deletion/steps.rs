//! The steps of a Machine's deletion, and their time-outs.

use std::sync::Arc;

use cluster_core::machine::OnDemand;
use cluster_core::{Reference, machine};
use schemas::HasConditions;
use serde_json::{Value, json};

use super::{deleting_machine, external, now, pods, read};

#[test]
fn a_machine_goes_hook_by_hook_and_part_by_part() {
    let fresh = || deleting_machine(json!({}));
    let pod = || json!({"metadata": {"name": "p", "namespace": "default"}});
    let without_infrastructure =
        || machine::Observed { infrastructure: Reference::NotFound, pods: OnDemand::NotRead, ..fresh() };
    let only_node = || machine::Observed { bootstrap: Reference::NotFound, ..without_infrastructure() };
    let pre_drain = "pre-drain.delete.hook.machine.cluster.x-k8s.io/x";
    let pre_terminate = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/x";
    let control_plane_goes = machine::Observed { control_plane: external("Plane", true), ..only_node() };
    let not_cordoned = read(json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}}));
    let not_cordoned = machine::NodeState::Found(not_cordoned);
    let unread = OnDemand::Failed("list the Pods of Node m: refused".to_owned());
    let rows: [(&str, machine::Observed, &str); 12] = [
        ("hook before the drain", deleting_machine(json!({pre_drain: ""})), "WaitingForPreDrainHook"),
        ("a pod to evict", machine::Observed { pods: pods(vec![pod()]), ..fresh() }, "DrainingNode"),
        ("pods not known yet", machine::Observed { pods: OnDemand::NotRead, ..fresh() }, "DrainingNode"),
        ("pods that cannot be read", machine::Observed { pods: unread, ..fresh() }, "DrainingNode"),
        (
            "a Node that may have got Pods meanwhile",
            machine::Observed { node: not_cordoned, ..fresh() },
            "DrainingNode",
        ),
        ("hook before the end", deleting_machine(json!({pre_terminate: ""})), "WaitingForPreTerminateHook"),
        (
            "hook before the drain of a Node that is gone",
            machine::Observed {
                node: machine::NodeState::Absent,
                ..deleting_machine(json!({pre_drain: ""}))
            },
            "WaitingForPreDrainHook",
        ),
        ("infrastructure", fresh(), "WaitingForInfrastructureDeletion"),
        ("bootstrap", without_infrastructure(), "WaitingForBootstrapDeletion"),
        ("node", only_node(), "DeletingNode"),
        ("the node goes with its control plane", control_plane_goes, "DeletionCompleted"),
        (
            "all gone",
            machine::Observed { node: machine::NodeState::Absent, ..only_node() },
            "DeletionCompleted",
        ),
    ];
    for (what, observed, reason) in rows {
        let plan = machine::plan(&observed);
        assert_eq!(plan.machine.condition("Deleting").unwrap().reason, reason, "{what}");
        assert_eq!(plan.delete.len(), counts(reason), "{what}");
        assert_eq!(plan.delete_node, reason == "DeletingNode", "{what}");
        assert_eq!(plan.evict.len(), usize::from(what == "a pod to evict"), "{what}");
        let is_done = plan.machine.metadata.finalizers.is_none();
        assert_eq!(is_done, reason == "DeletionCompleted", "{what}");
    }
}

/// Returns how many provider objects the step with this reason deletes.
fn counts(reason: &str) -> usize {
    usize::from(matches!(reason, "WaitingForInfrastructureDeletion" | "WaitingForBootstrapDeletion"))
}

const OUT_OF_REACH: &str = "Waiting for the connection to the workload cluster";

/// Returns a deleting Machine with this Node state, and these time-outs of drain, volume detachment and Node
/// deletion.
fn with_node(node: machine::NodeState, timeouts: [Option<i32>; 3]) -> machine::Observed {
    let mut observed = machine::Observed {
        node,
        pods: OnDemand::NotRead,
        ..deleting_machine(json!({"pre-drain.delete.hook.machine.cluster.x-k8s.io": ""}))
    };
    Arc::make_mut(&mut observed.machine).spec.deletion = Some(schemas::cluster::MachineDeletionSpec {
        node_drain_timeout_seconds: timeouts[0],
        node_volume_detach_timeout_seconds: timeouts[1],
        node_deletion_timeout_seconds: timeouts[2],
    });
    observed
}

/// Reconciles a Machine from one deadline to the next, for at most 100 rounds, until its deletion is
/// complete; returns the steps with the seconds after which each was reached. Provider objects disappear as
/// soon as they are deleted, the Node does not.
fn follow(mut observed: machine::Observed) -> Vec<(i64, String)> {
    let begun = observed.now;
    let mut steps: Vec<(i64, String)> = Vec::new();
    for _ in 0..100 {
        let plan = machine::plan(&observed);
        assert!(plan.errors.is_empty(), "{:?}", plan.errors);
        let reason = plan.machine.condition("Deleting").unwrap().reason.clone();
        if steps.last().is_none_or(|(_, last)| *last != reason) {
            steps.push(((observed.now - begun).num_seconds(), reason.clone()));
        }
        if plan.delete_node {
            observed.node_deletion_since.get_or_insert(observed.now);
        }
        match reason.as_str() {
            "WaitingForPreDrainHook" => {
                observed.machine = Arc::new(plan.machine);
                Arc::make_mut(&mut observed.machine).metadata.annotations = None;
                continue;
            }
            "WaitingForInfrastructureDeletion" => observed.infrastructure = Reference::NotFound,
            "WaitingForBootstrapDeletion" => observed.bootstrap = Reference::NotFound,
            "DeletionCompleted" => {
                assert!(plan.machine.metadata.finalizers.is_none());
                return steps;
            }
            _ => {
                let wait = plan.action.requeue_after.unwrap();
                assert!(wait <= std::time::Duration::from_secs(20), "{reason}: {wait:?}");
                observed.now += wait;
            }
        }
        observed.machine = Arc::new(plan.machine);
    }
    steps
}

/// Each time-out elapses while the cluster is unreachable, and a step without a time-out waits.
#[test]
fn time_outs_run_while_the_cluster_is_out_of_reach() {
    const HOOK: (i64, &str) = (0, "WaitingForPreDrainHook");
    const DRAIN: (i64, &str) = (0, "DrainingNode");
    let parts = |at: i64| [(at, "WaitingForInfrastructureDeletion"), (at, "WaitingForBootstrapDeletion")];
    let not_connected = || machine::NodeState::NotConnected;
    type Steps = Vec<(i64, &'static str)>;
    let unread = machine::NodeState::Found(read(
        json!({"metadata": {"name": "m"}, "spec": {"providerID": "id", "unschedulable": true}}),
    ));
    let rows: [(&str, machine::Observed, Steps); 8] = [
        ("no time-outs", with_node(not_connected(), [None; 3]), vec![HOOK, DRAIN]),
        ("0 is none", with_node(not_connected(), [Some(0); 3]), vec![HOOK, DRAIN]),
        (
            "drain",
            with_node(not_connected(), [Some(60), None, None]),
            vec![HOOK, DRAIN, (60, "WaitingForVolumeDetach")],
        ),
        (
            "drain and detachment",
            with_node(not_connected(), [Some(60), Some(30), None]),
            [vec![HOOK, DRAIN, (60, "WaitingForVolumeDetach")], parts(90).into(), vec![(90, "DeletingNode")]]
                .concat(),
        ),
        (
            "all; the last one is over, and yet the Node is tried for a while",
            with_node(not_connected(), [Some(60), Some(30), Some(10)]),
            [
                vec![HOOK, DRAIN, (60, "WaitingForVolumeDetach")],
                parts(90).into(),
                vec![(90, "DeletingNode"), (100, "DeletionCompleted")],
            ]
            .concat(),
        ),
        (
            "the API server does not list Pods and volumes",
            machine::Observed {
                pods: OnDemand::Failed("no answer".to_owned()),
                volumes: OnDemand::Failed("no answer".to_owned()),
                ..with_node(unread, [Some(60), Some(30), Some(10)])
            },
            [
                vec![HOOK, DRAIN, (60, "WaitingForVolumeDetach")],
                parts(90).into(),
                vec![(90, "DeletingNode"), (100, "DeletionCompleted")],
            ]
            .concat(),
        ),
        (
            "the Node is gone, its hooks are not",
            with_node(machine::NodeState::Absent, [None; 3]),
            [vec![HOOK], parts(0).into(), vec![(0, "DeletionCompleted")]].concat(),
        ),
        (
            "the connection is lost after the infrastructure has gone",
            machine::Observed {
                infrastructure: Reference::NotFound,
                ..with_node(not_connected(), [None, None, Some(120)])
            },
            // The Machine has been in deletion for a minute.
            vec![HOOK, (0, "WaitingForBootstrapDeletion"), (0, "DeletingNode"), (60, "DeletionCompleted")],
        ),
    ];
    for (what, observed, expected) in rows {
        let steps = follow(observed);
        let steps: Vec<(i64, &str)> = steps.iter().map(|(at, reason)| (*at, reason.as_str())).collect();
        assert_eq!(steps, expected, "{what}");
    }
}

/// A Node is deleted even if the drain took longer than the time-out of the Node's deletion.
#[test]
fn a_node_is_deleted_however_long_the_drain_took() {
    let node = |metadata: Value| {
        machine::NodeState::Found(read(json!({"metadata": metadata, "spec": {"providerID": "id"}})))
    };
    let gone = |node: machine::NodeState, tried: Option<i64>| {
        let mut observed = with_node(node, [None, None, Some(10)]);
        Arc::make_mut(&mut observed.machine).metadata.annotations = None;
        observed.infrastructure = Reference::NotFound;
        observed.bootstrap = Reference::NotFound;
        observed.node_deletion_since = tried.map(|seconds| now() - chrono::Duration::seconds(seconds));
        observed
    };
    let goes = json!({"name": "m", "deletionTimestamp": "2026-11-20T23:59:59Z", "finalizers": ["x"]});
    let rows = [
        ("at once", gone(node(json!({"name": "m"})), None), true),
        ("not for ever", gone(node(json!({"name": "m"})), Some(10)), false),
        ("it is going", gone(node(goes), None), false),
        ("it is gone", gone(machine::NodeState::Absent, None), false),
    ];
    for (what, observed, delete) in rows {
        let plan = machine::plan(&observed);
        assert_eq!(plan.delete_node, delete, "{what}");
        assert_eq!(plan.machine.metadata.finalizers.is_none(), !delete, "{what}");
        assert_eq!(plan.events.len(), usize::from(what == "not for ever"), "{what}: {:?}", plan.events);
    }
}

/// Evictions wait for the cordon, and a Machine whose cluster is unreachable is not deleted while its Pods
/// run.
#[test]
fn a_node_that_cannot_be_seen_is_not_given_up() {
    let observed = machine::Observed {
        node: machine::NodeState::NotConnected,
        pods: OnDemand::NotRead,
        ..deleting_machine(json!({}))
    };
    let plan = machine::plan(&observed);
    assert!(plan.delete.is_empty() && plan.action.requeue_after.is_some());
    let condition: &schemas::meta::Condition = plan.machine.condition("Deleting").unwrap();
    assert_eq!((condition.reason.as_str(), condition.message.as_str()), ("DrainingNode", OUT_OF_REACH));

    let failed = Reference::Failed("no such kind".to_owned());
    let plan = machine::plan(&machine::Observed { control_plane: failed, ..deleting_machine(json!({})) });
    assert!(plan.delete.is_empty() && plan.errors == ["no such kind"], "{:?}", plan.errors);
}

/// Pre-terminate hooks rely on the drain: a Pod that comes later does not begin it again.
#[test]
fn a_node_is_drained_once() {
    let pod = json!({"metadata": {"name": "p", "namespace": "default"}});
    for hook in ["pre-terminate.delete.hook.machine.cluster.x-k8s.io/x", "none"] {
        let mut observed =
            machine::Observed { pods: pods(vec![pod.clone()]), ..deleting_machine(json!({hook: ""})) };
        let status = json!({"nodeRef": {"name": "m"}, "deletion": {"nodeDrainStartTime": "2026-11-20T23:59:00Z",
            "waitForPreTerminateHookStartTime": "2026-11-20T23:59:30Z"}});
        Arc::make_mut(&mut observed.machine).status = Some(serde_json::from_value(status).unwrap());
        let plan = machine::plan(&observed);
        let reason = match hook {
            "none" => "WaitingForInfrastructureDeletion",
            _ => "WaitingForPreTerminateHook",
        };
        assert_eq!(plan.machine.condition("Deleting").unwrap().reason, reason);
        assert!(plan.evict.is_empty());
    }
}
