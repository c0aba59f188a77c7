//! Table tests of the rules of a KubeadmConfig.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod cluster_info;
mod older;
mod tokens;

use std::sync::Arc;

use chrono::{DateTime, Duration, TimeZone, Utc};
use kubeadm::certificates::Purpose;
use kubeadm::config::observed::{Authorities, Lock, Observed, Token};
use kubeadm::config::owner::Owner;
use kubeadm::config::plan::{Bootstrap, Step, plan, ready};
use kubeadm::config::render::Role;
use kubeadm::config::token;
use schemas::version::Version;
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
        "spec": {"controlPlaneEndpoint": {"host": "h", "port": 6443}, "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}},
        "status": {
            "initialization": {"infrastructureProvisioned": provisioned},
            "conditions": [{"type": "ControlPlaneInitialized", "status": status}],
        },
    })
}

fn machine(control_plane: bool) -> Value {
    let labels = if control_plane { json!({"cluster.x-k8s.io/control-plane": ""}) } else { json!({}) };
    json!({"metadata": {"name": "m", "labels": labels}, "spec": {"clusterName": "c", "version": "v1.36.0", "bootstrap": {}}})
}

fn owner(machine: Value) -> Option<Owner> {
    Some(Owner::Machine(Arc::new(from(machine))))
}

fn observed(config: Value, machine: Value, cluster: Value) -> Observed {
    Observed {
        config: Arc::new(from(config)),
        owner: owner(machine),
        cluster: Some(Arc::new(from(cluster))),
        data_secret: None,
        taken: None,
        lock: Lock::Free,
        authorities: Authorities::default(),
        missing_values: Vec::new(),
        connected: true,
        token: Token::Unknown,
    }
}

fn of_role(role: Role, make_token: bool) -> Bootstrap {
    let version = Version::new(1, 36, 0);
    Bootstrap { role, version, break_lock: false, make_certificates: Vec::new(), make_token }
}

fn bootstrap(role: Role, make_token: bool) -> Step {
    Step::Bootstrap(of_role(role, make_token))
}

/// Returns the message of the first condition of the plan, and that of `CertificatesAvailable`.
fn told(observed: &Observed) -> (String, String) {
    let plan = plan(observed, now());
    assert_eq!(plan.step, Step::Wait);
    let message = |type_: &str| {
        let found = plan.conditions.iter().find(|found| found.type_ == type_);
        found.map(|found| found.message.clone()).unwrap_or_default()
    };
    (message("DataSecretAvailable"), message("CertificatesAvailable"))
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

/// The name for the data can be taken before they are made, and when those of a pool are renewed.
#[test]
fn a_secret_of_somebody_else_is_waited_for() {
    let taken = from(json!({"metadata": {"name": "m"}, "type": "Opaque"}));
    let mut new = observed(empty(), machine(false), cluster(true, true));
    new.taken = Some(Arc::new(taken));
    let (message, _) = told(&new);
    assert!(
        message.starts_with("Secret m has the name for the bootstrap data, and is of type Opaque,"),
        "{message}"
    );

    let pool = from(json!({"metadata": {"name": "p"}, "spec": {"clusterName": "c",
        "template": {"spec": {"clusterName": "c", "version": "v1.36.0", "bootstrap": {}}}}}));
    let renewed = Observed {
        config: Arc::new(from(with_token())),
        owner: Some(Owner::Pool(Arc::new(pool))),
        token: Token::Missing,
        ..new
    };
    let plan = plan(&renewed, now());
    assert_eq!(plan.step, Step::WatchToken);
    let said: Vec<(&str, &str)> =
        plan.conditions.iter().map(|one| (one.type_.as_str(), one.status.as_str())).collect();
    assert_eq!(said, [("DataSecretAvailable", "False")], "the condition is not set twice");
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
        (Lock::Abandoned, Step::Bootstrap(Bootstrap { break_lock: true, ..of_role(Role::Init, false) })),
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
    observed.authorities.missing = vec![Purpose::ServiceAccount];
    assert_eq!(told(&observed).1, "Waiting for the control plane provider to create them");
    let mut alone = cluster(true, false);
    alone["spec"] = json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}});
    observed.cluster = Some(Arc::new(from(alone)));
    let make_certificates = vec![Purpose::ServiceAccount];
    let step = Step::Bootstrap(Bootstrap { make_certificates, ..of_role(Role::Init, false) });
    assert_eq!(plan(&observed, now()).step, step);

    let external = json!({"endpoints": ["https://e"], "caFile": "/ca", "certFile": "/c", "keyFile": "/k"});
    let spec = json!({"clusterConfiguration": {"etcd": {"external": external}}});
    observed.config = Arc::new(from(json!({"metadata": {}, "spec": spec})));
    observed.authorities.missing = vec![Purpose::EtcdAuthority, Purpose::EtcdClient];
    let text = "An external etcd needs these Secrets, which do not exist: c-etcd, c-apiserver-etcd-client";
    assert_eq!(told(&observed).1, text);
}

#[test]
fn what_is_missing_or_wrong_is_told_and_nothing_is_written() {
    let change = |change: fn(&mut Observed)| {
        let mut observed = observed(empty(), machine(false), cluster(true, true));
        change(&mut observed);
        told(&observed)
    };
    let unusable = change(|observed| observed.authorities.unusable = vec!["Secret c-ca has no text".into()]);
    assert_eq!(unusable.1, "Secret c-ca has no text");
    let missing = change(|observed| observed.authorities.missing = vec![Purpose::ClusterAuthority]);
    assert_eq!(missing.1, "Certificates of the Cluster are missing");
    for (expected, (message, _)) in [
        (
            "Secret s does not exist or has no key k",
            change(|observed| {
                observed.missing_values = vec!["Secret s does not exist or has no key k".into()]
            }),
        ),
        (
            "The Machine has no valid version, which kubeadm's configuration needs",
            change(|observed| {
                let mut machine = machine(false);
                machine["spec"]["version"] = json!("latest");
                observed.owner = owner(machine);
            }),
        ),
        (
            "Waiting for Cluster spec.controlPlaneEndpoint to be set",
            change(|observed| {
                let mut cluster = cluster(true, true);
                cluster["spec"] = json!({});
                observed.cluster = Some(Arc::new(from(cluster)));
            }),
        ),
        (
            "spec.joinConfiguration.controlPlane is set, but the Machine is a worker: remove it",
            change(|observed| {
                let spec = json!({"joinConfiguration": {"controlPlane": {}}});
                observed.config = Arc::new(from(json!({"metadata": {}, "spec": spec})));
            }),
        ),
    ] {
        assert_eq!(message, expected);
    }
}

fn with_token() -> Value {
    json!({
        "metadata": {"name": "m"},
        "spec": {"joinConfiguration": {"discovery": {"bootstrapToken": {"token": "abcdef.0123456789abcdef"}}}},
        "status": {"initialization": {"dataSecretCreated": true}},
    })
}

#[test]
fn a_token_lives_until_its_node_is_there() {
    let mut observed = observed(with_token(), machine(false), cluster(true, true));
    let left = |minutes: i64| Token::Expires(now() + Duration::minutes(minutes));
    for (token, step) in [
        (Token::Unknown, Step::WatchToken),
        (Token::Missing, Step::KeepToken),
        (left(15), Step::WatchToken),
        (left(13), Step::WatchToken),
        (left(12), Step::KeepToken),
        (left(-1), Step::KeepToken),
    ] {
        observed.token = token;
        assert_eq!(plan(&observed, now()).step, step, "{token:?}");
    }
    let mut joined = machine(false);
    joined["status"] = json!({"nodeRef": {"name": "m"}});
    observed.owner = owner(joined);
    assert_eq!(plan(&observed, now()).step, Step::Wait);
}

#[test]
fn a_pool_gets_a_new_token_before_the_old_one_expires() {
    let pool = |nodes: usize| {
        let nodes: Vec<Value> = (0..nodes).map(|index| json!({"name": index.to_string()})).collect();
        let spec = json!({"clusterName": "c", "replicas": 2, "template": {"spec": {"clusterName": "c", "version": "v1.36.0", "bootstrap": {}}}});
        let pool = json!({"metadata": {"name": "p"}, "spec": spec, "status": {"nodeRefs": nodes}});
        Some(Owner::Pool(Arc::new(from(pool))))
    };
    let mut observed = observed(with_token(), machine(false), cluster(true, true));
    let left = |seconds: i64| Token::Expires(now() + Duration::seconds(seconds));
    let half = token::LIFETIME.num_seconds() / 2;
    let renew = || bootstrap(Role::JoinWorker, true);
    for (name, nodes, token, step) in [
        ("not all have joined: like a Machine", 1, left(600), Step::KeepToken),
        ("not all have joined, gone", 1, Token::Missing, renew()),
        ("all have joined", 2, left(half), Step::WatchToken),
        ("less than half is left", 2, left(half - 1), renew()),
        ("gone", 2, Token::Missing, renew()),
        ("not connected", 2, Token::Unknown, Step::WatchToken),
    ] {
        (observed.owner, observed.token) = (pool(nodes), token);
        assert_eq!(plan(&observed, now()).step, step, "{name}");
    }
    observed.authorities.missing = vec![Purpose::ClusterAuthority];
    let plan = plan(&observed, now());
    assert_eq!(plan.step, Step::WatchToken, "the present data stay");
    assert!(plan.conditions.iter().all(|found| found.status == "True"), "{:?}", plan.conditions);
}

#[test]
fn the_first_data_of_a_pool_are_those_of_a_worker() {
    let spec = json!({"clusterName": "c", "template": {"spec": {"clusterName": "c", "version": "v1.36.0", "bootstrap": {}}}});
    let mut observed = observed(empty(), machine(false), cluster(true, true));
    observed.owner = Some(Owner::Pool(Arc::new(from(json!({"metadata": {"name": "p"}, "spec": spec})))));
    assert_eq!(plan(&observed, now()).step, bootstrap(Role::JoinWorker, true));
}

#[test]
fn data_of_a_moved_machine_are_adopted() {
    let mut moved = machine(false);
    moved["spec"]["bootstrap"] = json!({"dataSecretName": "m-data"});
    let observed = observed(empty(), moved, cluster(true, true));
    assert_eq!(plan(&observed, now()).step, Step::Adopt("m-data".to_owned()));
}

#[test]
fn a_pool_gets_the_data_of_each_of_its_configs() {
    let spec = json!({"clusterName": "c", "template": {"spec": {"clusterName": "c", "version": "v1.36.0",
        "bootstrap": {"configRef": {"name": "second"}, "dataSecretName": "first"}}}});
    let mut observed = observed(empty(), machine(false), cluster(true, true));
    observed.owner = Some(Owner::Pool(Arc::new(from(json!({"metadata": {"name": "p"}, "spec": spec})))));
    assert_eq!(plan(&observed, now()).step, bootstrap(Role::JoinWorker, true));
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

#[test]
fn an_error_after_the_data_exist_leaves_no_condition_behind() {
    let mut config = empty();
    let failed = json!({"type": "DataSecretAvailable", "status": "False", "reason": "NotAvailable"});
    let created = json!({"dataSecretCreated": true});
    config["status"] = json!({"dataSecretName": "m", "initialization": created, "conditions": [failed]});
    let plan = plan(&observed(config, machine(true), cluster(true, true)), now());
    let available = plan.conditions.iter().find(|found| found.type_ == "DataSecretAvailable");
    assert_eq!(available.map(|found| found.status.as_str()), Some("True"));
}

#[test]
fn the_data_belong_to_their_config() {
    let mut config = with_token();
    config["metadata"]["uid"] = json!("u");
    let mut observed = observed(config, machine(false), cluster(true, true));
    let owned_by = |version: &str, uid: &str| {
        let group = format!("bootstrap.cluster.x-k8s.io/{version}");
        let owner = json!({"apiVersion": group, "kind": "KubeadmConfig", "name": "m", "uid": uid, "controller": true});
        Some(Arc::new(from(json!({"metadata": {"name": "m", "ownerReferences": [owner]}}))))
    };
    let rows = [
        (None, false),
        (owned_by("v1beta2", "u"), false),
        (owned_by("v1beta2", "before a move"), true),
        (owned_by("v1alpha1", "u"), true),
    ];
    for (secret, fix) in rows {
        observed.data_secret = secret;
        assert_eq!(plan(&observed, now()).fix_secret_owner, fix);
    }
}
