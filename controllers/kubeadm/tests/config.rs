//! Table tests of the rules of a KubeadmConfig.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use chrono::{DateTime, Duration, TimeZone, Utc};
use kubeadm::config::plan::{CertificateState, Lock, Observed, Step, plan, ready};
use kubeadm::config::render::Role;
use kubeadm::config::token;
use serde_json::{Value, json};

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn cluster(provisioned: bool, initialized: bool) -> Value {
    let status = if initialized { "True" } else { "False" };
    json!({
        "metadata": {"name": "c", "namespace": "ns"},
        "spec": {"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}},
        "status": {
            "initialization": {"infrastructureProvisioned": provisioned},
            "conditions": [{"type": "ControlPlaneInitialized", "status": status}],
        },
    })
}

fn machine(control_plane: bool) -> Value {
    let labels = if control_plane { json!({"cluster.x-k8s.io/control-plane": ""}) } else { json!({}) };
    json!({"metadata": {"name": "m", "labels": labels}, "spec": {"clusterName": "c", "bootstrap": {}}})
}

fn observed(config: Value, machine: Value, cluster: Value) -> Observed {
    Observed {
        config: Arc::new(from(config)),
        machine: Some(Arc::new(from(machine))),
        cluster: Some(Arc::new(from(cluster))),
        data_secret: None,
        lock: Lock::Free,
        certificates: CertificateState::Complete,
        connected: true,
        token_expires: None,
    }
}

fn bootstrap(role: Role, make_token: bool) -> Step {
    Step::Bootstrap { role, break_lock: false, make_certificates: false, make_token }
}

fn empty() -> Value {
    json!({"metadata": {"name": "m"}, "spec": {}})
}

#[test]
fn roles_follow_machine_and_cluster() {
    let table = [
        ("no infrastructure", observed(empty(), machine(true), cluster(false, false)), Step::Wait),
        ("first", observed(empty(), machine(true), cluster(true, false)), bootstrap(Role::Init, false)),
        ("worker waits", observed(empty(), machine(false), cluster(true, false)), Step::Wait),
        (
            "next",
            observed(empty(), machine(true), cluster(true, true)),
            bootstrap(Role::JoinControlPlane, true),
        ),
        ("worker", observed(empty(), machine(false), cluster(true, true)), bootstrap(Role::JoinWorker, true)),
    ];
    for (name, observed, step) in table {
        assert_eq!(plan(&observed, now()).step, step, "{name}");
    }
}

#[test]
fn waiting_is_told_as_upstream_tells_it() {
    let plan = plan(&observed(empty(), machine(false), cluster(true, false)), now());
    let text = "Waiting for Cluster control plane to be initialized";
    assert_eq!(plan.conditions.first().map(|found| found.message.as_str()), Some(text));
    let expected =
        format!("* DataSecretAvailable: {text}\n* CertificatesAvailable: Condition not yet reported");
    assert_eq!(ready(&plan.conditions).message, expected);
}

#[test]
fn one_machine_initialises() {
    let mut observed = observed(empty(), machine(true), cluster(true, false));
    for (lock, step) in [
        (Lock::Free, bootstrap(Role::Init, false)),
        (Lock::Ours, bootstrap(Role::Init, false)),
        (Lock::Taken, Step::Wait),
        (
            Lock::Abandoned,
            Step::Bootstrap {
                role: Role::Init,
                break_lock: true,
                make_certificates: false,
                make_token: false,
            },
        ),
    ] {
        observed.lock = lock;
        assert_eq!(plan(&observed, now()).step, step, "{lock:?}");
    }
    observed.cluster = Some(Arc::new(from(cluster(true, true))));
    assert!(plan(&observed, now()).release_lock);
}

#[test]
fn certificates_come_from_the_control_plane_provider() {
    let mut observed = observed(empty(), machine(true), cluster(true, false));
    observed.certificates = CertificateState::Incomplete;
    assert_eq!(plan(&observed, now()).step, Step::Wait);
    let mut alone = cluster(true, false);
    alone["spec"] = json!({});
    observed.cluster = Some(Arc::new(from(alone)));
    let step =
        Step::Bootstrap { role: Role::Init, break_lock: false, make_certificates: true, make_token: false };
    assert_eq!(plan(&observed, now()).step, step);
}

#[test]
fn a_token_lives_until_its_node_is_there() {
    let config = json!({
        "metadata": {"name": "m"},
        "spec": {"joinConfiguration": {"discovery": {"bootstrapToken": {"token": "abcdef.0123456789abcdef"}}}},
        "status": {"initialization": {"dataSecretCreated": true}},
    });
    let mut observed = observed(config, machine(false), cluster(true, true));
    assert_eq!(plan(&observed, now()).step, Step::KeepToken, "after a restart nobody knows");
    observed.token_expires = Some(now() + token::LIFETIME);
    assert_eq!(plan(&observed, now()).step, Step::WatchToken);
    assert_eq!(plan(&observed, now() + Duration::minutes(3)).step, Step::KeepToken);
    let mut joined = machine(false);
    joined["status"] = json!({"nodeRef": {"name": "m"}});
    observed.machine = Some(Arc::new(from(joined)));
    assert_eq!(plan(&observed, now() + Duration::minutes(3)).step, Step::Wait);
}

#[test]
fn data_of_a_moved_machine_are_adopted() {
    let mut moved = machine(false);
    moved["spec"]["bootstrap"] = json!({"dataSecretName": "m-data"});
    let observed = observed(empty(), moved, cluster(true, true));
    assert_eq!(plan(&observed, now()).step, Step::Adopt("m-data".to_owned()));
}

#[test]
fn tokens_need_the_workload_cluster() {
    let mut observed = observed(empty(), machine(false), cluster(true, true));
    observed.connected = false;
    assert_eq!(plan(&observed, now()).step, Step::Wait);
    let file = json!({"kubeConfigPath": "/k"});
    observed.config =
        Arc::new(from(json!({"metadata": {}, "spec": {"joinConfiguration": {"discovery": {"file": file}}}})));
    assert_eq!(plan(&observed, now()).step, bootstrap(Role::JoinWorker, false));
}
