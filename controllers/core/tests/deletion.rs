//! The order in which clusters and machines are deleted, as tables over `plan`.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_core::{Reference, cluster, machine};
use engine::{ExternalObject, Health};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineDeployment};
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
        health: Health::default(),
        has_kubeconfig: true,
        authority: None,
        now: now(),
    }
}

/// Workers, then the control plane, then the infrastructure, then the Cluster itself.
#[test]
fn a_cluster_goes_from_the_workers_down() {
    let owner =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "c"}]);
    let deployment: Arc<MachineDeployment> = read(
        json!({"metadata": {"name": "md", "namespace": "default", "uid": "md", "ownerReferences": owner}}),
    );
    let with_workers = cluster::Observed { deployments: vec![deployment], ..deleting_cluster() };
    let without_plane = cluster::Observed { control_plane: Reference::NotFound, ..deleting_cluster() };
    let rows: [(cluster::Observed, &str, &str, (usize, usize)); 5] = [
        (with_workers, "WaitingForWorkersDeletion", "* MachineDeployments: md", (1, 0)),
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
            (plan.delete.deployments.len(), plan.delete.external.len()),
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
    let rows: [(&str, machine::Observed, &str); 9] = [
        ("hook before the drain", deleting_machine(json!({pre_drain: ""})), "WaitingForPreDrainHook"),
        ("a pod to evict", machine::Observed { pods: Some(vec![pod()]), ..fresh() }, "DrainingNode"),
        ("pods not known yet", machine::Observed { pods: None, ..fresh() }, "DrainingNode"),
        ("hook before the end", deleting_machine(json!({pre_terminate: ""})), "WaitingForPreTerminateHook"),
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

/// How many provider objects a step deletes.
fn counts(reason: &str) -> usize {
    usize::from(matches!(reason, "WaitingForInfrastructureDeletion" | "WaitingForBootstrapDeletion"))
}

/// Evictions wait for the cordon, and a Machine whose cluster is unreachable is not torn down under its Pods.
#[test]
fn a_node_that_cannot_be_seen_is_not_given_up() {
    let observed = machine::Observed {
        node: machine::NodeState::NotConnected,
        pods: None,
        ..deleting_machine(json!({}))
    };
    let plan = machine::plan(&observed);
    assert!(plan.delete.is_empty() && !plan.errors.is_empty());
    assert_eq!(plan.machine.condition("Deleting").unwrap().reason, "DrainingNode");
}
