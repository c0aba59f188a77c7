//! Tests of `container_machines::machine::plan`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use container_machines::machine::observed::{Data, NodeState, Observed, Obstacle};
use container_machines::machine::plan::plan;
use container_machines::machine::status::{BOOTSTRAP, CONTAINER, GROUPS, IMAGES};
use container_machines::machine::steps::{Done, Step, Wanted};
use container_machines::machine::tasks::Progress;
use container_machines::names::MACHINE_FINALIZER;
use engine::{Action, NamespacedName, finalizer};
use k8s_openapi::api::core::v1::Node;
use node_bootstrap::{At, Outcome, Output, Report};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::DevMachine;
use serde_json::{Value, json};
use system_containers::{Container, Image, State};

const NAME: &str = "first-cp-1";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_000_000_000, 0).unwrap()
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn cluster(conditions: &[&str]) -> Arc<Cluster> {
    let conditions: Vec<Value> =
        conditions.iter().map(|type_| json!({"type": type_, "status": "True", "reason": "Is"})).collect();
    from(json!({
        "metadata": {"name": "first", "namespace": "default"},
        "status": {"initialization": {"infrastructureProvisioned": true}, "conditions": conditions},
    }))
}

fn dev(docker: Value) -> Arc<DevMachine> {
    from(json!({
        "metadata": {"name": NAME, "namespace": "default", "uid": "u1", "finalizers": [MACHINE_FINALIZER]},
        "spec": {"backend": {"docker": docker}},
    }))
}

fn machine(is_control_plane: bool) -> Arc<Machine> {
    let labels = if is_control_plane { json!({"cluster.x-k8s.io/control-plane": ""}) } else { json!({}) };
    from(json!({
        "metadata": {"name": NAME, "namespace": "default", "labels": labels},
        "spec": {"clusterName": "first", "version": "v1.36.3"},
    }))
}

fn container(state: State) -> Container {
    Container {
        name: NAME.to_owned(),
        labels: BTreeMap::new(),
        image: "image".to_owned(),
        address: Ipv4Addr::new(10, 89, 0, 3),
        state,
        pid: None,
        created: now(),
        started: Some(now()),
    }
}

/// A machine without a container, of which nothing hinders one.
fn new() -> Observed {
    Observed {
        name: NamespacedName::new("default", NAME),
        dev: dev(json!({})),
        machine: Some(machine(true)),
        pool: None,
        cluster: Some(cluster(&[])),
        failure_domain: Some("a".to_owned()),
        obstacle: None,
        container: None,
        wanted: Wanted {
            name: NAME.to_owned(),
            labels: BTreeMap::new(),
            environment: BTreeMap::new(),
            mounts: Vec::new(),
        },
        image: Ok("kindest/node:v1.36.3".to_owned()),
        preload: Vec::new(),
        progress: Progress::default(),
        data: Data::Usable(Arc::default()),
        node: NodeState::NotConnected,
    }
}

/// The machine with a container in this state, after these steps.
fn with(state: State, done: &[Step]) -> Observed {
    let done = done.iter().map(|step| (step.clone(), Done::Step)).collect();
    Observed {
        container: Some(container(state)),
        progress: Progress { done, ..Progress::default() },
        ..new()
    }
}

fn ended_with(outcome: Outcome) -> Observed {
    let mut observed = with(State::Running, &[Step::Ready]);
    let report = Report { outcome, warnings: Vec::new() };
    observed.progress.done.insert(Step::Bootstrap, Done::Bootstrap(report));
    observed
}

fn image_step() -> Step {
    Step::Image("kindest/node:v1.36.3".to_owned())
}

/// Returns `STATUS/REASON MESSAGE` of a condition.
fn said(dev: &DevMachine, type_: &str) -> String {
    let condition = dev.condition(type_).unwrap_or_else(|| panic!("there is no condition {type_}"));
    format!("{}/{} {}", condition.status, condition.reason, condition.message).trim_end().to_owned()
}

#[test]
fn a_machine_waits_for_what_it_needs_before_it_has_a_container() {
    let cases = [
        (
            Observed { obstacle: Some(Obstacle::Runtime("no root".to_owned())), ..new() },
            "False/NotProvisioned no root",
        ),
        (
            Observed { cluster: Some(from(json!({"metadata": {"name": "first"}}))), ..new() },
            "False/WaitingForClusterInfrastructureReady",
        ),
        (Observed { image: Err("no version".to_owned()), ..new() }, "False/NotProvisioned no version"),
    ];
    for (observed, expected) in cases {
        let plan = plan(&observed, now());
        assert_eq!(said(&plan.wanted, CONTAINER), expected);
        assert_eq!(plan.step, None, "{expected}");
        assert_eq!(plan.wanted.spec.provider_id, None);
    }
}

#[test]
fn a_machine_has_a_container_before_its_bootstrap_data_and_waits_for_them() {
    let without_data = |is_control_plane: bool, conditions: &[&str]| Observed {
        machine: Some(machine(is_control_plane)),
        cluster: Some(cluster(conditions)),
        data: Data::Unnamed,
        ..with(State::Running, &[Step::Ready])
    };
    let cases = [
        (without_data(false, &[]), "False/WaitingForControlPlaneInitialized"),
        (without_data(false, &["ControlPlaneInitialized"]), "False/WaitingForBootstrapData"),
        (without_data(true, &[]), "False/WaitingForBootstrapData"),
    ];
    for (observed, expected) in cases {
        let plan = plan(&observed, now());
        assert_eq!(said(&plan.wanted, BOOTSTRAP), expected);
        assert_eq!((plan.step, plan.wanted.spec.provider_id), (None, None), "{expected}");
    }
    assert_eq!(plan(&Observed { data: Data::Unnamed, ..new() }, now()).step, Some(image_step()));
}

#[test]
fn the_steps_follow_one_after_the_other() {
    let preload = dev(json!({"preLoadImages": ["web"]}));
    let running = |done: &[Step]| Observed { dev: preload.clone(), ..with(State::Running, done) };
    let import = Step::Import("web".to_owned());
    let import_again = import.clone();
    let mut found = new();
    found.progress.done.insert(image_step(), Done::Image(Image::default()));
    let cases = [
        (new(), Some(image_step()), CONTAINER, "False/NotProvisioned Waiting for image kindest/node:v1.36.3"),
        (found, Some(Step::Create), CONTAINER, "False/NotProvisioned Creating container first-cp-1"),
        (running(&[]), Some(Step::Ready), GROUPS, "False/NotReady Waiting for cgroups ready (1 of 1)"),
        (
            running(&[Step::Ready]),
            Some(import.clone()),
            IMAGES,
            "False/NotReady Pre-loading image web (1 of 1)",
        ),
        (
            running(&[Step::Ready, import]),
            Some(Step::Bootstrap),
            BOOTSTRAP,
            "False/NotCompleted Running bootstrap command",
        ),
        (
            Observed { preload: vec!["itself".to_owned()], ..running(&[Step::Ready, import_again]) },
            Some(Step::Import("itself".to_owned())),
            IMAGES,
            "False/NotReady Pre-loading image itself (2 of 2)",
        ),
        (ended_with(Outcome::Completed), None, BOOTSTRAP, "True/Completed"),
    ];
    for (observed, step, type_, expected) in cases {
        let plan = plan(&observed, now());
        assert_eq!((said(&plan.wanted, type_).as_str(), plan.step), (expected, step));
    }
}

#[test]
fn a_provider_id_comes_with_the_node_and_before_the_bootstrap() {
    let before = plan(&with(State::Running, &[]), now()).wanted;
    assert_eq!(before.spec.provider_id, None);
    assert_eq!(said(&before, IMAGES), "False/WaitingForCGroups");
    assert_eq!(said(&before, BOOTSTRAP), "False/WaitingForPreloadedImages");
    let after = plan(&with(State::Running, &[Step::Ready]), now()).wanted;
    assert_eq!(after.spec.provider_id.as_deref(), Some("docker:////first-cp-1"));
    let status = after.status.unwrap();
    assert_eq!(status.initialization.unwrap().provisioned, Some(true));
    let addresses: Vec<(&str, &str)> =
        status.addresses.iter().map(|it| (it.type_.as_str(), it.address.as_str())).collect();
    assert_eq!(addresses, [("Hostname", NAME), ("InternalIP", "10.89.0.3"), ("ExternalIP", "10.89.0.3")]);
    assert_eq!(status.failure_domain.as_deref(), Some("a"));
}

#[test]
fn a_step_that_runs_or_has_failed_is_told_and_not_begun_again() {
    let mut running = new();
    running.progress.running = Some(image_step());
    running.progress.said = "layer 2 of 3".to_owned();
    let plan_of_running = plan(&running, now());
    assert_eq!(said(&plan_of_running.wanted, CONTAINER), "False/NotProvisioned layer 2 of 3");
    assert_eq!(plan_of_running.step, None);
    let failed = |again: i64| {
        let mut observed = new();
        observed.progress.failed = Some(container_machines::machine::tasks::Failed {
            step: image_step(),
            error: "no route".to_owned(),
            again: now() + TimeDelta::seconds(again),
            times: 1,
        });
        plan(&observed, now())
    };
    let text = "False/NotProvisioned Waiting for image kindest/node:v1.36.3 failed: no route";
    for (again, step) in [(5, None), (0, Some(image_step()))] {
        let plan = failed(again);
        assert_eq!((said(&plan.wanted, CONTAINER).as_str(), plan.step), (text, step));
    }
    assert_eq!(failed(5).action, Action::requeue_after(std::time::Duration::from_secs(5)));
}

#[test]
fn a_bootstrap_that_failed_is_final_and_said() {
    let at = || At { step: 5, of: 7, what: "kubeadm join".to_owned() };
    let failed = Outcome::Failed { at: at(), code: 3, output: Output::default() };
    for outcome in [failed, Outcome::Interrupted(at()), Outcome::Foreign { succeeded: false }] {
        let message = outcome.message();
        let plan = plan(&ended_with(outcome), now());
        assert_eq!(said(&plan.wanted, BOOTSTRAP), format!("False/Failed {message}").trim_end());
        assert_eq!(plan.step, None);
        assert!(
            said(&plan.wanted, "Ready").contains("* BootstrapCompleted:"),
            "{}",
            said(&plan.wanted, "Ready")
        );
    }
}

#[test]
fn a_restart_changes_no_condition_of_a_machine_that_comes_up() {
    let preload = dev(json!({"preLoadImages": ["web"]}));
    let import = Step::Import("web".to_owned());
    let at = || At { step: 5, of: 7, what: "kubeadm join".to_owned() };
    let mut failed = ended_with(Outcome::Failed { at: at(), code: 3, output: Output::default() });
    failed.dev = preload.clone();
    let waiting =
        Observed { dev: preload, data: Data::Unnamed, ..with(State::Running, &[Step::Ready, import]) };
    for before in [waiting, failed] {
        let written = Arc::new(plan(&before, now()).wanted);
        let after = Observed { dev: written.clone(), progress: Progress::default(), ..before };
        assert_eq!(plan(&after, now()).wanted, *written);
    }
}

#[test]
fn a_completed_bootstrap_is_not_looked_at_again() {
    let completed = plan(&ended_with(Outcome::Completed), now()).wanted;
    assert_eq!(said(&completed, "Ready"), "True/Ready");
    let after_restart = Observed { dev: Arc::new(completed), ..with(State::Running, &[]) };
    let mut without_data = after_restart.clone();
    without_data.data = Data::Unusable("the Secret is gone".to_owned());
    for observed in [after_restart, without_data] {
        let plan = plan(&observed, now());
        assert_eq!(plan.step, None);
        assert_eq!(plan.wanted, *observed.dev, "nothing is written at rest");
    }
}

#[test]
fn bootstrap_data_that_cannot_be_used_is_named() {
    let mut observed = with(State::Running, &[Step::Ready]);
    observed.data = Data::Unusable("Secret default/x has no key value".to_owned());
    let plan = plan(&observed, now());
    assert_eq!(said(&plan.wanted, BOOTSTRAP), "False/InvalidBootstrapData Secret default/x has no key value");
    assert_eq!(plan.step, None);
}

#[test]
fn the_end_of_a_container_is_told_and_nothing_is_made_again() {
    let provisioned = plan(&ended_with(Outcome::Completed), now()).wanted;
    let stopped = State::Stopped { code: Some(137), error: None };
    let cases = [
        (None, "is gone. Delete the Machine"),
        (Some(stopped.clone()), "`firstlight nodes start first-cp-1`"),
        (Some(State::Paused), "`firstlight nodes resume first-cp-1`"),
    ];
    for (state, expected) in cases {
        let observed =
            Observed { dev: Arc::new(provisioned.clone()), container: state.map(container), ..new() };
        let plan = plan(&observed, now());
        let said = said(&plan.wanted, CONTAINER);
        assert!(said.starts_with("False/NotProvisioned") && said.contains(expected), "{said}");
        assert_eq!((plan.step, plan.remove), (None, None));
        assert!(plan.action.requeue_after.is_some(), "it is looked at again");
    }
    let never_a_node = Observed { container: Some(container(stopped)), ..new() };
    assert_eq!(plan(&never_a_node, now()).step, Some(image_step()));
}

#[test]
fn a_machine_of_a_pool_that_is_gone_is_replaced_once_its_node_says_so_too() {
    let provisioned = Arc::new(plan(&ended_with(Outcome::Completed), now()).wanted);
    let node = |ready: &str| {
        let conditions = json!([{"type": "Ready", "status": ready}]);
        NodeState::Found(from(json!({"metadata": {"name": NAME}, "status": {"conditions": conditions}})))
    };
    let pool = Some(from(json!({"metadata": {"name": "pool"}})));
    let stopped = Some(container(State::Stopped { code: Some(137), error: None }));
    let cases = [
        (&pool, None, node("Unknown"), true),
        (&pool, None, NodeState::Absent, true),
        (&pool, None, node("True"), false),
        (&pool, None, NodeState::NotConnected, false),
        (&pool, stopped, node("False"), false),
        (&None, None, node("False"), false),
    ];
    for (pool, container, node, expected) in cases {
        let (dev, pool) = (provisioned.clone(), pool.clone());
        let observed = Observed { dev, pool, container, node, ..new() };
        let plan = plan(&observed, now());
        assert_eq!(plan.replace.is_some(), expected, "{:?} {:?}", observed.container, observed.node);
        assert!(said(&plan.wanted, CONTAINER).starts_with("False/NotProvisioned"));
    }
}

#[test]
fn the_node_gets_the_provider_id_and_loses_the_taint() {
    let node: Arc<Node> = from(json!({
        "metadata": {"name": NAME},
        "spec": {"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.89.0.99"}]},
    }));
    let observed = Observed { node: NodeState::Found(node), ..ended_with(Outcome::Completed) };
    let plan_of_new = plan(&observed, now());
    let wanted = plan_of_new.node.unwrap();
    let spec = wanted.spec.clone().unwrap();
    assert_eq!(spec.provider_id.as_deref(), Some("docker:////first-cp-1"));
    assert_eq!(spec.taints, Some(Vec::new()));
    assert_eq!(plan_of_new.wanted.status.unwrap().addresses.last().unwrap().address, "10.89.0.99");
    let observed = Observed { node: NodeState::Found(Arc::new(wanted)), ..observed };
    assert_eq!(plan(&observed, now()).node, None);
}

#[test]
fn a_deleted_machine_keeps_its_finalizer_until_its_container_is_removed() {
    let mut deleted = dev(json!({})).as_ref().clone();
    deleted.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).unwrap();
    let observed = Observed { dev: Arc::new(deleted), ..with(State::Running, &[]) };
    let removing = plan(&observed, now());
    assert_eq!(removing.remove.as_deref(), Some(NAME));
    assert_eq!(removing.step, None);
    assert_eq!(said(&removing.wanted, CONTAINER), "False/Deleting Removing container first-cp-1");
    let mut creating = Observed { container: None, ..observed.clone() };
    creating.progress.running = Some(Step::Create);
    let hidden = |dev: &DevMachine, obstacle: Obstacle| Observed {
        dev: Arc::new(dev.clone()),
        obstacle: Some(obstacle),
        container: None,
        ..observed.clone()
    };
    let new = observed.dev.as_ref().clone();
    let (mut has_id, mut has_address) = (new.clone(), new.clone());
    has_id.spec.provider_id = Some("docker:////first-cp-1".to_owned());
    has_address.status.get_or_insert_default().addresses =
        serde_json::from_value(json!([{"type": "InternalIP", "address": "10.93.0.2"}])).unwrap();
    let not_root = || Obstacle::Runtime("this process is not root's".to_owned());
    let cases = [
        (creating, true),
        (hidden(&has_id, not_root()), true),
        (hidden(&has_address, not_root()), true),
        (hidden(&new, not_root()), false),
        // Nobody knows whether it has a container.
        (hidden(&new, Obstacle::Silence("the daemon does not answer".to_owned())), true),
    ];
    for (observed, keeps) in cases {
        let plan = plan(&observed, now());
        assert_eq!((finalizer::has(&plan.wanted, MACHINE_FINALIZER), plan.remove), (keeps, None));
    }
}
