//! The order in which clusters and machines are deleted, as tables over `plan`.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod clock;
mod drain;
mod grace;
mod refusals;
mod slow_drain;
mod steps;
mod volumes;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_core::machine::OnDemand;
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
        class: None,
        features: Default::default(),
        health: Health::default(),
        connection_problem: None,
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
    let rows: [(cluster::Observed, &str, &str, usize); 6] = [
        (with_workers, "WaitingForWorkersDeletion", "* MachineDeployments: md", 1),
        (with_pool, "WaitingForWorkersDeletion", "* MachinePools: mp", 1),
        (deleting_cluster(), "WaitingForControlPlaneDeletion", "Waiting for Plane to be deleted", 1),
        (
            cluster::Observed { control_plane: external("Plane", true), ..deleting_cluster() },
            "WaitingForControlPlaneDeletion",
            "Waiting for Plane to be deleted",
            0,
        ),
        (without_plane.clone(), "WaitingForInfrastructureDeletion", "Waiting for Infra to be deleted", 1),
        (
            cluster::Observed { infrastructure: Reference::NotFound, ..without_plane },
            "DeletionCompleted",
            "Deletion completed",
            0,
        ),
    ];
    for (observed, reason, message, deleted) in rows {
        let plan = cluster::plan(&observed);
        let condition: &schemas::meta::Condition = plan.wanted.condition("Deleting").unwrap();
        assert_eq!((condition.reason.as_str(), condition.message.as_str()), (reason, message));
        assert_eq!(
            plan.steps.texts().iter().filter(|step| step.starts_with("delete ")).count(),
            deleted,
            "{reason}"
        );
        let is_done = plan.wanted.metadata.finalizers.is_none();
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
        data_secret_problem: None,
        infrastructure: external("Infra", false),
        node: machine::NodeState::Found(read::<Node>(
            json!({"metadata": {"name": "m"}, "spec": {"providerID": "id", "unschedulable": true}}),
        )),
        propagates_taints: false,
        health: Health::default(),
        control_plane: external("Plane", false),
        has_control_plane_machines: true,
        drain_rules: Vec::new(),
        pods: pods(Vec::new()),
        evictions: BTreeMap::new(),
        volumes: OnDemand::Found(machine::NodeVolumes::default()),
        node_deletion_since: None,
        updates_in_place: true,
        last_update: None,
        now: now(),
    }
}

/// Returns the observed Pods of a Node.
fn pods(list: Vec<Value>) -> OnDemand<machine::NodePods> {
    let pods: Vec<Arc<Pod>> = list.into_iter().map(read).collect();
    OnDemand::Found(machine::NodePods { pods, ..machine::NodePods::default() })
}
