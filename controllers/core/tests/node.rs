//! What a Machine sets on its Node, and what older clients read of a Machine.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster_core::machine::{self, NodeState, OnDemand};
use cluster_core::{Reference, machine::Observed};
use engine::{ExternalObject, Health};
use k8s_openapi::api::core::v1::Node;
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::Machine;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";
const OUTDATED: &str = "node.cluster.x-k8s.io/outdated-revision";

fn read<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn infrastructure(status: Value) -> Reference {
    let object = json!({"apiVersion": "test/v1", "kind": "Infra", "metadata": {"name": "m", "namespace": "default"},
        "spec": {"providerID": "id"}, "status": status});
    let resource = ApiResource {
        group: "test".into(),
        version: "v1".into(),
        api_version: "test/v1".into(),
        kind: "Infra".into(),
        plural: "infras".into(),
    };
    Reference::Found(ExternalObject { object: read(object), resource, contract: "v1beta2" })
}

/// Returns a running worker and its Node.
fn running(metadata: Value, spec: Value, node: Value) -> Observed {
    let mut machine = json!({
        "metadata": {"name": "m", "namespace": "default", "uid": "m"},
        "spec": {"clusterName": "c", "providerID": "id", "bootstrap": {"dataSecretName": "s"},
            "infrastructureRef": {"apiGroup": "test", "kind": "Infra", "name": "m"}},
        "status": {"nodeRef": {"name": "m"}},
    });
    for (part, more) in [("metadata", metadata), ("spec", spec)] {
        machine[part].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    Observed {
        machine: read::<Machine>(machine),
        cluster: read(json!({"metadata": {"name": "c", "namespace": "default", "uid": "c"}})),
        set: None,
        deployment: None,
        bootstrap: Reference::None,
        infrastructure: infrastructure(json!({"initialization": {"provisioned": true}})),
        node: NodeState::Found(read(node)),
        propagates_taints: true,
        health: Health::default(),
        control_plane: Reference::None,
        has_control_plane_machines: true,
        drain_rules: Vec::new(),
        pods: OnDemand::NotRead,
        evictions: BTreeMap::new(),
        volumes: OnDemand::NotRead,
        node_deletion_since: None,
        now: machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap(),
    }
}

fn bare() -> Value {
    json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}})
}

/// Returns the Node after the plan.
fn node(observed: &Observed) -> Node {
    let plan = machine::plan(observed);
    plan.node.unwrap_or_else(|| observed.node.found().unwrap().as_ref().clone())
}

fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    taints
        .iter()
        .map(|taint| format!("{}={}:{}", taint.key, taint.value.clone().unwrap_or_default(), taint.effect))
        .collect()
}

fn annotation<'a>(node: &'a Node, name: &str) -> Option<&'a str> {
    engine::object::annotation(node, &format!("cluster.x-k8s.io/{name}"))
}

#[test]
fn labels_and_annotations_reach_the_node_and_leave_it() {
    let labels = json!({"node-role.kubernetes.io/worker": "", "sub.node.cluster.x-k8s.io/a": "1", "app": "x",
        "x.node-restriction.kubernetes.io/b": "2", "evilnode.cluster.x-k8s.io/c": "3"});
    let annotations = json!({"node.cluster.x-k8s.io/note": "n", "other": "o"});
    let before = json!({"metadata": {"name": "m", "labels": {"node-role.kubernetes.io/old": "", "mine": "y"},
        "annotations": {"cluster.x-k8s.io/labels-from-machine": "node-role.kubernetes.io/old"}}, "spec": {"providerID": "id"}});
    let found = node(&running(json!({"labels": labels, "annotations": annotations}), json!({}), before));
    let keys: Vec<&str> = found.metadata.labels.iter().flatten().map(|(key, _)| key.as_str()).collect();
    let synced = [
        "node-role.kubernetes.io/worker",
        "sub.node.cluster.x-k8s.io/a",
        "x.node-restriction.kubernetes.io/b",
    ];
    assert_eq!(keys, [vec!["mine"], synced.to_vec()].concat());
    assert_eq!(annotation(&found, "labels-from-machine"), Some(synced.join(",").as_str()));
    assert_eq!(annotation(&found, "annotations-from-machine"), Some("node.cluster.x-k8s.io/note"));
    assert_eq!(engine::object::annotation(&found, "other"), None);
    let again = running(
        json!({"labels": labels, "annotations": annotations}),
        json!({}),
        serde_json::to_value(&found).unwrap(),
    );
    assert!(machine::plan(&again).node.is_none(), "nothing is written at rest");
}

#[test]
fn a_node_names_its_machine_and_the_owner() {
    let owner = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "set", "uid": "s", "controller": true}]);
    let owned = node(&running(json!({"ownerReferences": owner}), json!({}), bare()));
    let of = |node: &Node| {
        ["cluster-name", "cluster-namespace", "machine", "owner-kind", "owner-name"]
            .map(|name| annotation(node, name).map(str::to_owned))
    };
    let texts = |list: [&str; 5]| list.map(|text| Some(text.to_owned()));
    assert_eq!(of(&owned), texts(["c", "default", "m", "MachineSet", "set"]));
    assert_eq!(annotation(&owned, "annotations-from-machine"), Some(""));
    let alone = node(&running(json!({}), json!({}), serde_json::to_value(owned).unwrap()));
    assert_eq!(of(&alone)[3..], [None, None]);
}

#[test]
fn the_node_of_an_interruptible_machine_has_a_label() {
    let mut observed = running(json!({}), json!({}), bare());
    observed.infrastructure =
        infrastructure(json!({"initialization": {"provisioned": true}, "interruptible": true}));
    let plan = machine::plan(&observed);
    let labels = plan.node.unwrap().metadata.labels.unwrap();
    assert!(labels.contains_key("cluster.x-k8s.io/interruptible"));
    assert!(plan.events.iter().any(|event| event.reason == "SuccessfulSetInterruptibleNodeLabel"));
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

/// Type, status, reason, severity and message of the conditions that clients of v1beta1 read.
fn older(machine: &Machine) -> Vec<String> {
    let older = machine.status.as_ref().unwrap().deprecated.as_ref().unwrap().v1beta1.as_ref().unwrap();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    older
        .conditions
        .iter()
        .map(|condition| {
            let parts = [
                &condition.type_,
                &condition.status,
                &text(&condition.severity),
                &text(&condition.reason),
                &text(&condition.message),
            ];
            parts.map(String::as_str).join(" ").trim_end().to_owned()
        })
        .collect()
}

/// As recorded from Cluster API 1.14, but for `Ready` while the infrastructure is not.
#[test]
fn older_clients_see_their_conditions() {
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
    let with_conditions = |ready: &str| {
        json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"},
            "status": {"conditions": [condition("Ready", ready), condition("DiskPressure", "False")]}})
    };
    let no_infrastructure =
        |observed: Observed| Observed { infrastructure: infrastructure(json!({})), ..observed };
    let mut starting = no_infrastructure(running(json!({}), json!({}), bare()));
    starting.node = NodeState::Absent;
    let machine = Arc::make_mut(&mut starting.machine);
    (machine.spec.provider_id, machine.status) = (None, None);
    let gone = Observed {
        infrastructure: Reference::NotFound,
        ..running(json!({"deletionTimestamp": "2026-11-20T23:59:59Z"}), json!({}), bare())
    };
    let hook = json!({"deletionTimestamp": "2026-11-20T23:59:59Z", "annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io": ""}});
    let rows: [(&str, Observed, Vec<&str>); 5] = [
        (
            "starting",
            starting,
            vec![
                "Ready False Info WaitingForInfrastructure 1 of 2 completed",
                "BootstrapReady True",
                "InfrastructureReady False Info WaitingForInfrastructure",
                "NodeHealthy False Info WaitingForNodeRef",
            ],
        ),
        (
            "running",
            running(json!({}), json!({}), with_conditions("True")),
            vec!["Ready True", "BootstrapReady True", "InfrastructureReady True", "NodeHealthy True"],
        ),
        (
            "not ready",
            running(json!({}), json!({}), with_conditions("False")),
            vec![
                "Ready True",
                "BootstrapReady True",
                "InfrastructureReady True",
                "NodeHealthy False Warning NodeConditionsFailed Node condition Ready is False",
            ],
        ),
        (
            "waiting for a hook",
            running(hook, json!({}), with_conditions("True")),
            vec![
                "Ready True",
                "BootstrapReady True",
                "InfrastructureReady True",
                "NodeHealthy True",
                "PreDrainDeleteHookSucceeded False Info WaitingExternalHook",
            ],
        ),
        (
            "without infrastructure",
            gone,
            vec![
                "Ready False Info Deleted",
                "BootstrapReady True",
                "InfrastructureReady False Info Deleted",
                "NodeHealthy True",
                "PreDrainDeleteHookSucceeded True",
                "PreTerminateDeleteHookSucceeded True",
            ],
        ),
    ];
    for (what, observed, expected) in rows {
        assert_eq!(older(&machine::plan(&observed).machine), expected, "{what}");
    }
}

#[test]
fn older_clients_see_failures() {
    let status = json!({"nodeRef": {"name": "m"}, "initialization": {"infrastructureProvisioned": true}});
    let mut gone = running(json!({}), json!({}), bare());
    Arc::make_mut(&mut gone.machine).status = serde_json::from_value(status).unwrap();
    gone.infrastructure = Reference::NotFound;
    let mut broken = running(json!({}), json!({}), bare());
    broken.infrastructure =
        infrastructure(json!({"failureReason": "CreateError", "failureMessage": "no quota"}));
    let rows = [
        (
            gone,
            "InvalidConfiguration",
            "Machine infrastructure resource Infra with name \"m\" has been deleted after being ready",
        ),
        (broken, "CreateError", "Failure detected from referenced resource Infra with name \"m\": no quota"),
    ];
    for (observed, reason, message) in rows {
        let machine = machine::plan(&observed).machine;
        let older = machine.status.unwrap().deprecated.unwrap().v1beta1.unwrap();
        assert_eq!(
            (older.failure_reason.as_deref(), older.failure_message.as_deref()),
            (Some(reason), Some(message))
        );
    }
}

#[test]
fn the_conditions_of_a_node_are_summarized() {
    let row = |list: &[(&str, &str, &str)]| {
        let conditions: Vec<Value> = list
            .iter()
            .map(|(type_, status, message)| json!({"type": type_, "status": status, "message": message}))
            .collect();
        json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"}, "status": {"conditions": conditions}})
    };
    let (ready, memory, disk, pid) = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure");
    let rows = [
        (
            row(&[(ready, "True", ""), (memory, "False", ""), (disk, "False", ""), (pid, "False", "")]),
            "NodeHealthy",
            "",
        ),
        (
            row(&[(ready, "True", ""), (memory, "True", "full"), (disk, "False", ""), (pid, "Unknown", "")]),
            "NodeNotHealthy",
            "* Node.MemoryPressure: full\n* Node.PIDPressure: Condition is Unknown",
        ),
        (
            row(&[
                (ready, "Unknown", "silent"),
                (memory, "Unknown", "silent"),
                (disk, "Unknown", "silent"),
                (pid, "Unknown", "silent"),
            ]),
            "NodeHealthyUnknown",
            "* Node.AllConditions: silent",
        ),
        (
            row(&[(ready, "True", ""), (memory, "False", ""), (disk, "False", "")]),
            "NodeHealthyUnknown",
            "* Node.PIDPressure: Condition not yet reported",
        ),
    ];
    for (node, reason, message) in rows {
        let mut observed = running(json!({}), json!({}), node);
        Arc::make_mut(&mut observed.cluster).status = serde_json::from_value(json!({
            "initialization": {"infrastructureProvisioned": true},
            "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}))
        .unwrap();
        let machine = machine::plan(&observed).machine;
        let condition = machine.condition("NodeHealthy").unwrap();
        assert_eq!((condition.reason.as_str(), condition.message.as_str()), (reason, message));
    }
}

/// A readiness gate counts by its polarity, and a missing condition is unknown.
#[test]
fn readiness_gates_decide_about_ready() {
    let rows = [
        ("Positive", Some("True"), true),
        ("Positive", Some("False"), false),
        ("Negative", Some("True"), false),
        ("Negative", Some("False"), true),
        ("Positive", None, false),
    ];
    for (polarity, status, good) in rows {
        let gate = json!({"readinessGates": [{"conditionType": "Gate", "polarity": polarity}]});
        let mut observed = running(json!({}), gate, bare());
        let gate = status.map(|status| {
            json!({"type": "Gate", "status": status, "reason": "X", "message": "",
            "lastTransitionTime": "2026-11-20T00:00:00Z"})
        });
        let machine = Arc::make_mut(&mut observed.machine).status.as_mut().unwrap();
        machine.conditions = serde_json::from_value(json!(gate.into_iter().collect::<Vec<_>>())).unwrap();
        let plan = machine::plan(&observed).machine;
        let message = plan.condition("Ready").unwrap().message.clone();
        assert_eq!(!message.contains("Gate"), good, "{polarity} {status:?}: {message}");
    }
}

/// Control plane Machines show when their certificates expire: by their own annotation, or else by that of
/// their bootstrap object.
#[test]
fn certificates_expire() {
    const EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
    let control_plane = json!({"cluster.x-k8s.io/control-plane": ""});
    let rows = [
        (json!({}), json!({EXPIRY: "2027-01-01T00:00:00Z"}), None),
        (control_plane.clone(), json!({EXPIRY: "2027-01-01T00:00:00Z"}), Some("2027-01-01T00:00:00Z")),
        (control_plane.clone(), json!({EXPIRY: "soon"}), None),
        (control_plane, json!({}), None),
    ];
    for (labels, annotations, expected) in rows {
        let observed = running(json!({"labels": labels, "annotations": annotations}), json!({}), bare());
        let status = machine::plan(&observed).machine.status.unwrap();
        assert_eq!(status.certificates_expiry_date.as_deref(), expected);
    }
}
