//! The order in which clusters and machines are deleted, as tables over `plan`.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_core::{Reference, cluster, machine};
use engine::{ExternalObject, Health};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn now() -> DateTime<Utc> {
    machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap()
}

fn external(kind: &str, deleting: bool) -> Reference {
    let mut metadata = json!({"name": "x", "namespace": "default"});
    if deleting {
        metadata["deletionTimestamp"] = "2026-11-20T00:00:00Z".into();
    }
    let object =
        json!({"apiVersion": "test/v1", "kind": kind, "metadata": metadata, "spec": {}, "status": {}});
    let (group, version) = ("test".to_owned(), "v1".to_owned());
    let resource = ApiResource {
        group,
        version,
        api_version: "test/v1".into(),
        kind: kind.into(),
        plural: engine::contract::plural(kind),
    };
    Reference::Found(ExternalObject { object: read(object), resource, contract: "v1beta2" })
}

fn references() -> Value {
    let reference = |kind: &str| json!({"apiGroup": "test", "kind": kind, "name": "x"});
    json!({"infrastructureRef": reference("Infra"), "controlPlaneRef": reference("Plane")})
}

fn deleting_cluster() -> cluster::Observed {
    cluster::Observed {
        cluster: read(json!({
            "metadata": {"name": "c", "namespace": "default", "uid": "c", "deletionTimestamp": "2026-11-20T00:00:00Z",
                "finalizers": [cluster::FINALIZER]},
            "spec": references(),
            "status": {"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}},
        })),
        infrastructure: external("Infra", false),
        control_plane: external("Plane", false),
        control_plane_machines: Vec::new(),
        worker_machines: Vec::new(),
        deployments: Vec::new(),
        sets: Vec::new(),
        pools: Vec::new(),
        health: Health::default(),
        has_kubeconfig: true,
        authority: None,
        now: now(),
    }
}

/// The order is workers, control plane, infrastructure, the Cluster itself.
#[test]
fn a_cluster_goes_from_the_workers_down() {
    let owner =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "c"}]);
    let deployment: Arc<MachineDeployment> = read(
        json!({"metadata": {"name": "md", "namespace": "default", "uid": "md", "ownerReferences": owner}}),
    );
    let with_workers = cluster::Observed { deployments: vec![deployment], ..deleting_cluster() };
    let pool: Arc<MachinePool> = read(
        json!({"metadata": {"name": "mp", "namespace": "default", "uid": "mp", "ownerReferences": owner}}),
    );
    let with_pool = cluster::Observed { pools: vec![pool], ..deleting_cluster() };
    let without_plane = cluster::Observed { control_plane: Reference::NotFound, ..deleting_cluster() };
    let rows: [(cluster::Observed, &str, &str, (usize, usize)); 6] = [
        (with_workers, "WaitingForWorkersDeletion", "* MachineDeployments: md", (1, 0)),
        (with_pool, "WaitingForWorkersDeletion", "* MachinePools: mp", (1, 0)),
        (deleting_cluster(), "WaitingForControlPlaneDeletion", "Waiting for Plane to be deleted", (0, 1)),
        (
            cluster::Observed { control_plane: external("Plane", true), ..deleting_cluster() },
            "WaitingForControlPlaneDeletion",
            "Waiting for Plane to be deleted",
            (0, 0),
        ),
        (
            without_plane.clone(),
            "WaitingForInfrastructureDeletion",
            "Waiting for Infra to be deleted",
            (0, 1),
        ),
        (
            cluster::Observed { infrastructure: Reference::NotFound, ..without_plane },
            "DeletionCompleted",
            "Deletion completed",
            (0, 0),
        ),
    ];
    for (observed, reason, message, (deployments, external)) in rows {
        let plan = cluster::plan(&observed);
        let condition: &schemas::meta::Condition = plan.cluster.condition("Deleting").unwrap();
        assert_eq!((condition.reason.as_str(), condition.message.as_str()), (reason, message));
        assert_eq!(
            (plan.delete.deployments.len() + plan.delete.pools.len(), plan.delete.external.len()),
            (deployments, external),
            "{reason}"
        );
        let is_done = plan.cluster.metadata.finalizers.is_none();
        assert_eq!(is_done, reason == "DeletionCompleted", "the finalizer stays until the end");
        assert!(plan.errors.is_empty(), "{:?}", plan.errors);
    }
}

fn deleting_machine(annotations: Value) -> machine::Observed {
    let cluster: Arc<Cluster> = read(json!({"metadata": {"name": "c", "namespace": "default", "uid": "c"},
        "spec": references(), "status": {"initialization": {"infrastructureProvisioned": true}}}));
    machine::Observed {
        machine: read::<Machine>(json!({
            "metadata": {"name": "m", "namespace": "default", "uid": "m", "annotations": annotations,
                "deletionTimestamp": "2026-11-20T23:59:00Z", "finalizers": [machine::FINALIZER]},
            "spec": {"clusterName": "c", "providerID": "id",
                "infrastructureRef": {"apiGroup": "test", "kind": "Infra", "name": "m"},
                "bootstrap": {"configRef": {"apiGroup": "test", "kind": "Config", "name": "m"}}},
            "status": {"nodeRef": {"name": "m"}},
        })),
        cluster,
        set: None,
        deployment: None,
        bootstrap: external("Config", false),
        infrastructure: external("Infra", false),
        node: machine::NodeState::Found(read::<Node>(
            json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}}),
        )),
        health: Health::default(),
        control_plane: external("Plane", false),
        has_control_plane_machines: true,
        pods: Some(Vec::new()),
        node_deletion_since: None,
        now: now(),
    }
}

#[test]
fn a_machine_goes_hook_by_hook_and_part_by_part() {
    let fresh = || deleting_machine(json!({}));
    let pod = || read::<Pod>(json!({"metadata": {"name": "p", "namespace": "default"}}));
    let without_infrastructure =
        || machine::Observed { infrastructure: Reference::NotFound, pods: None, ..fresh() };
    let only_node = || machine::Observed { bootstrap: Reference::NotFound, ..without_infrastructure() };
    let pre_drain = "pre-drain.delete.hook.machine.cluster.x-k8s.io/x";
    let pre_terminate = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/x";
    let control_plane_goes = machine::Observed { control_plane: external("Plane", true), ..only_node() };
    let rows: [(&str, machine::Observed, &str); 10] = [
        ("hook before the drain", deleting_machine(json!({pre_drain: ""})), "WaitingForPreDrainHook"),
        ("a pod to evict", machine::Observed { pods: Some(vec![pod()]), ..fresh() }, "DrainingNode"),
        ("pods not known yet", machine::Observed { pods: None, ..fresh() }, "DrainingNode"),
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
        pods: None,
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
    let rows: [(&str, machine::Observed, Steps); 7] = [
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
        pods: None,
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
