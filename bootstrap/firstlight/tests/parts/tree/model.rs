//! Tests of `firstlight::tree::model`.

use engine::startup::Unconfirmed;
use firstlight::tree::model::{Objects, State, entries};
use serde_json::{Value, json};

fn cluster(available: &str, message: &str) -> Value {
    json!({
        "kind": "Cluster",
        "metadata": {"namespace": "default", "name": "first"},
        "spec": {"infrastructureRef": {"kind": "DevCluster", "name": "first"}},
        "status": {"phase": "Provisioning", "conditions": [
            {"type": "Available", "status": available, "reason": "NotAvailable", "message": message,
             "lastTransitionTime": "2026-11-21T02:48:06Z"}]},
    })
}

#[test]
fn an_infrastructure_that_never_becomes_ready_is_named() {
    let infrastructure = json!({
        "kind": "DevCluster",
        "metadata": {"namespace": "default", "name": "first", "creationTimestamp": "2026-11-21T02:48:00Z"},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "NotReady", "message": "no quota left"}]},
    });
    let objects = Objects {
        clusters: vec![cluster(
            "False",
            "* InfrastructureReady: no quota left\n* ControlPlaneAvailable: waiting",
        )],
        infrastructure: vec![infrastructure],
        ..Objects::default()
    };
    let entries = entries(&objects);
    assert_eq!(entries[0].causes, ["InfrastructureReady: no quota left", "ControlPlaneAvailable: waiting"]);
    assert_eq!(entries[1].label, "DevCluster first");
    assert_eq!(
        (entries[1].state, entries[1].causes.join("; ")),
        (State::Waiting, "no quota left".to_owned())
    );
    assert!(entries[1].since.is_some());
}

#[test]
fn an_unconfirmed_status_is_waited_for_and_a_paused_cluster_says_so() {
    let mut cluster = cluster("True", "");
    cluster["status"]["phase"] = json!("Provisioned");
    cluster["spec"]["paused"] = json!(true);
    let mut objects = Objects { clusters: vec![cluster], ..Objects::default() };
    assert_eq!(
        (entries(&objects)[0].state, entries(&objects)[0].summary.as_str()),
        (State::Good, "Available, paused")
    );
    let unconfirmed = |name: &str| Unconfirmed {
        kind: "Cluster".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        cause: "not reconciled yet".to_owned(),
    };
    objects.unconfirmed.unconfirmed = vec![unconfirmed("second")];
    assert_eq!(entries(&objects)[0].state, State::Good);
    objects.unconfirmed.unconfirmed = vec![unconfirmed("first")];
    let entry = entries(&objects).remove(0);
    assert_eq!((entry.state, entry.causes), (State::Waiting, vec!["not reconciled yet".to_owned()]));
}

#[test]
fn a_topology_that_is_not_reconciled_is_waited_for() {
    for (status, shown) in [("True", State::Good), ("False", State::Waiting)] {
        let mut cluster = cluster("True", "");
        let reconciled = json!({"type": "TopologyReconciled", "status": status});
        cluster["status"]["conditions"].as_array_mut().unwrap().push(reconciled);
        let objects = Objects { clusters: vec![cluster], ..Objects::default() };
        assert_eq!(entries(&objects)[0].state, shown, "{status}");
    }
}

#[test]
fn a_deployment_tells_what_holds_its_machine_set_up() {
    let deployment = json!({
        "kind": "MachineDeployment", "metadata": {"namespace": "default", "name": "workers"}, "spec": {"clusterName": "first"},
        "status": {"conditions": [
            {"type": "Available", "status": "True"},
            {"type": "RollingOut", "status": "True", "message": "Rolling out 2 not up-to-date replicas"}]},
    });
    let set = json!({
        "metadata": {"namespace": "default", "name": "x", "labels": {"cluster.x-k8s.io/deployment-name": "workers"}},
        "spec": {"clusterName": "first"},
        "status": {"conditions": [{"type": "ScalingUp", "status": "True",
            "message": "Scaling up from 0 to 1 replicas is blocked because:\n* its version is higher\n* kubeadm"}]},
    });
    let objects = Objects {
        clusters: vec![cluster("True", "")],
        machine_deployments: vec![deployment],
        machine_sets: vec![set],
        ..Objects::default()
    };
    let entries = entries(&objects);
    assert_eq!(
        entries[1].causes,
        ["its version is higher", "kubeadm", "Rolling out 2 not up-to-date replicas"]
    );
}
