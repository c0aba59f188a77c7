//! Providers that break their contract.

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::cluster::{self, Observed as ClusterObserved};
use cluster_core::machine::{self, NodeState, Observed as MachineObserved};
use k8s_openapi::api::core::v1::Node;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use serde_json::{Value, json};

use crate::core::cluster as clusters;
use crate::core::machine_set::{external, now, parse, with};

/// Status, reason and message of a condition.
fn said<K: HasConditions>(object: &K, type_: &str) -> String {
    let found = object.condition(type_).unwrap();
    format!("{} {} {}", found.status, found.reason, found.message).trim_end().to_owned()
}

/// Plans the Cluster twice; asserts that the second plan changes nothing.
fn planned(observed: ClusterObserved) -> Cluster {
    let first = cluster::plan(&observed);
    assert_eq!(first.errors, Vec::<String>::new());
    let again = ClusterObserved { cluster: Arc::new(first.wanted.clone()), ..observed };
    assert_eq!(cluster::plan(&again).wanted, first.wanted, "a second plan changes nothing");
    first.wanted
}

fn planned_machine(observed: MachineObserved) -> Machine {
    let first = machine::plan(&observed);
    let again = MachineObserved { machine: Arc::new(first.machine.clone()), ..observed };
    assert_eq!(machine::plan(&again).machine, first.machine, "a second plan changes nothing");
    first.machine
}

/// A Cluster with the endpoint `h:6443` and the failure domain `a`.
fn running_cluster() -> Value {
    with(clusters::cluster(), json!({"/status/failureDomains": [{"name": "a", "controlPlane": true}]}))
}

#[test]
fn fields_of_an_infrastructure_cluster() {
    let domain = |name: &str| json!({"name": name, "controlPlane": true});
    let many: Vec<Value> = (0..101).map(|index| domain(&index.to_string())).collect();
    // Columns: the field, its value, what the condition says about it.
    let rows = [
        ("/status/failureDomains", json!("everywhere"), "status.failureDomains is a string, not a list"),
        (
            "/status/failureDomains",
            json!(["b"]),
            "status.failureDomains has an item that is no failure domain",
        ),
        (
            "/status/failureDomains",
            json!([domain("b"), domain("b")]),
            "status.failureDomains has several items with the name b",
        ),
        (
            "/status/failureDomains",
            json!([{"controlPlane": true}]),
            "status.failureDomains has an item whose name has 0 characters, not 1 to 256",
        ),
        ("/status/failureDomains", json!(many), "status.failureDomains has 101 items, more than 100"),
        (
            "/spec/controlPlaneEndpoint",
            json!({"host": 7, "port": 6443}),
            "spec.controlPlaneEndpoint.host is a number, not a string",
        ),
        (
            "/spec/controlPlaneEndpoint",
            json!({"host": "h", "port": "https"}),
            "spec.controlPlaneEndpoint.port is a string, not an integer",
        ),
        (
            "/spec/controlPlaneEndpoint",
            json!({"host": "h", "port": -5}),
            "spec.controlPlaneEndpoint.port is -5, which is not between 1 and 65535",
        ),
        (
            "/spec/controlPlaneEndpoint",
            json!({"host": "other", "port": 6443}),
            "spec.controlPlaneEndpoint is other:6443, but the Cluster has h:6443, which cannot change",
        ),
        (
            "/status/initialization",
            json!({"provisioned": "yes"}),
            "status.initialization.provisioned is a string, not a boolean",
        ),
    ];
    for (field, value, problem) in rows {
        let changes = json!({"/status/failureDomains": [domain("a")], field: value});
        let infrastructure = clusters::object("Infra", changes);
        let cluster = planned(ClusterObserved { infrastructure, ..clusters::observed(&running_cluster()) });
        assert_eq!(said(&cluster, "InfrastructureReady"), format!("True Ready * Infra t: {problem}"));
        assert!(said(&cluster, "Available").contains(problem), "who looks at the Cluster sees it");
        let endpoint = cluster.spec.control_plane_endpoint.unwrap();
        assert_eq!((endpoint.host.as_deref(), endpoint.port), (Some("h"), Some(6443)), "{problem}");
        let domains: Vec<String> =
            cluster.status.unwrap().failure_domains.into_iter().map(|domain| domain.name).collect();
        assert_eq!(domains, ["a"], "{problem}");
    }
}

#[test]
fn half_of_an_endpoint_is_named_once_the_infrastructure_is_complete() {
    let fresh = with(clusters::cluster(), json!({"/spec/controlPlaneEndpoint": null}));
    for (endpoint, expected) in [
        (
            json!({"host": "h"}),
            "spec.controlPlaneEndpoint has a host and no port: the Cluster waits for both",
        ),
        (
            json!({"port": 6443}),
            "spec.controlPlaneEndpoint has a port and no host: the Cluster waits for both",
        ),
        (json!({}), ""),
    ] {
        for provisioned in [true, false] {
            let changes = json!({"/spec/controlPlaneEndpoint": endpoint, "/status/initialization/provisioned": provisioned});
            let cluster = with(
                fresh.clone(),
                json!({"/status/initialization": {"infrastructureProvisioned": provisioned}}),
            );
            let infrastructure = clusters::object("Infra", changes);
            let cluster = planned(ClusterObserved { infrastructure, ..clusters::observed(&cluster) });
            let said = said(&cluster, "InfrastructureReady");
            assert_eq!(said.contains("the Cluster waits"), provisioned && !expected.is_empty(), "{said}");
            assert!(!provisioned || said.contains(expected), "{said}");
        }
    }
}

#[test]
fn a_new_cluster_takes_nothing_that_is_wrong() {
    let fresh = with(clusters::cluster(), json!({"/status": {}, "/spec/controlPlaneEndpoint": null}));
    for endpoint in [
        json!({"host": "h", "port": 70_000}),
        json!({"host": "", "port": 6443}),
        json!({"host": "h".repeat(513), "port": 6443}),
        json!({"host": "h", "port": 0}),
        json!("h:6443"),
    ] {
        let infrastructure = clusters::object("Infra", json!({"/spec/controlPlaneEndpoint": endpoint}));
        let cluster = planned(ClusterObserved { infrastructure, ..clusters::observed(&fresh) });
        assert_eq!(cluster.spec.control_plane_endpoint, None, "{endpoint}");
        assert_eq!(cluster.status.unwrap().phase.as_deref(), Some("Provisioning"));
    }
    // An object without status is one of which nothing is known yet.
    let infrastructure = Reference::Found(external("test", "Infra", json!({"/status": null})));
    let cluster = planned(ClusterObserved { infrastructure, ..clusters::observed(&fresh) });
    let waits = "False NotReady Infra status.initialization.provisioned is false";
    assert_eq!(said(&cluster, "InfrastructureReady"), waits);
}

#[test]
fn what_was_provisioned_stays_so() {
    let flipped = json!({"/status/initialization": {"provisioned": false, "controlPlaneInitialized": false}});
    let observed = ClusterObserved {
        infrastructure: clusters::object("Infra", flipped.clone()),
        control_plane: clusters::object("Plane", flipped),
        ..clusters::observed(&running_cluster())
    };
    let cluster = planned(observed);
    let initialization = cluster.status.unwrap().initialization.unwrap();
    assert_eq!(initialization.infrastructure_provisioned, Some(true));
    assert_eq!(initialization.control_plane_initialized, Some(true));

    let status = json!({"initialization": {"provisioned": false}});
    let machine =
        planned_machine(MachineObserved { infrastructure: infrastructure(json!({}), status), ..running() });
    let initialization = machine.status.unwrap().initialization.unwrap();
    assert_eq!(initialization.infrastructure_provisioned, Some(true));
}

#[test]
fn versions_and_numbers_of_a_control_plane() {
    let rows = [
        (json!({"version": "v1", "replicas": 0}), json!([])),
        (json!({"version": "v".repeat(257), "replicas": 1}), json!([])),
        (
            json!({"versions": [{"version": "", "replicas": 1}, {"version": "v1", "replicas": -1}, "v2"]}),
            json!([]),
        ),
        (
            json!({"versions": "v1", "version": "v1", "replicas": 1}),
            json!([{"version": "v1", "replicas": 1}]),
        ),
    ];
    for (status, versions) in rows {
        let control_plane = clusters::object("Plane", json!({"/status": status}));
        let cluster = planned(ClusterObserved { control_plane, ..clusters::observed(&running_cluster()) });
        let counters = cluster.status.unwrap().control_plane.unwrap();
        assert_eq!(serde_json::to_value(counters.versions).unwrap(), versions, "{status}");
    }
}

fn infrastructure(spec: Value, status: Value) -> Reference {
    Reference::Found(external("test", "Infra", json!({"/spec": spec, "/status": status})))
}

/// A running Machine with an address, and its Node.
fn running() -> MachineObserved {
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
    let conditions = [
        condition("Ready", "True"),
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        condition("PIDPressure", "False"),
    ];
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"},
        "status": {"conditions": conditions}}))
    .unwrap();
    let machine = json!({
        "metadata": {"name": "m", "namespace": "default", "uid": "m"},
        "spec": {"clusterName": "plain", "providerID": "id", "bootstrap": {"dataSecretName": "s"},
            "infrastructureRef": {"apiGroup": "test", "kind": "Infra", "name": "t"}},
        "status": {"nodeRef": {"name": "m"}, "failureDomain": "a",
            "initialization": {"infrastructureProvisioned": true, "bootstrapDataSecretCreated": true},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
    });
    let cluster = with(
        clusters::cluster(),
        json!({"/status/conditions": [{"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": "",
            "lastTransitionTime": "2026-11-21T00:30:00Z"}]}),
    );
    MachineObserved {
        machine: parse(&machine),
        cluster: parse(&cluster),
        set: None,
        deployment: None,
        bootstrap: Reference::None,
        data_secret_problem: None,
        infrastructure: infrastructure(json!({"providerID": "id"}), json!({})),
        node: NodeState::Found(Arc::new(node)),
        propagates_taints: false,
        health: engine::Health { connected: true, last_success: Some(now()), failures: 0 },
        control_plane: Reference::None,
        has_control_plane_machines: true,
        drain_rules: Vec::new(),
        pods: machine::OnDemand::NotRead,
        evictions: Default::default(),
        volumes: machine::OnDemand::NotRead,
        node_deletion_since: None,
        updates_in_place: true,
        last_update: None,
        now: now(),
    }
}

#[test]
fn fields_of_an_infrastructure_machine() {
    let addresses = |address: Value| json!({"addresses": [address]});
    let id = || json!({"providerID": "id"});
    let kinds = "Hostname, ExternalIP, InternalIP, ExternalDNS, InternalDNS";
    // Columns: spec and status of the infrastructure, what the condition says about it.
    let rows = [
        (json!({"providerID": 5}), json!({}), "spec.providerID is a number, not a string".to_owned()),
        (
            json!({"providerID": "x".repeat(513)}),
            json!({}),
            "spec.providerID has 513 characters, more than 512".to_owned(),
        ),
        (id(), json!({"addresses": "10.0.0.2"}), "status.addresses is a string, not a list".to_owned()),
        (id(), addresses(json!("10.0.0.2")), "status.addresses has an item that is no address".to_owned()),
        (
            id(),
            addresses(json!({"type": "PublicIP", "address": "1.2.3.4"})),
            format!("status.addresses has an address of the type \"PublicIP\", which is none of {kinds}"),
        ),
        (
            id(),
            addresses(json!({"type": "Hostname", "address": ""})),
            "status.addresses has an address that is empty".to_owned(),
        ),
        (id(), json!({"failureDomain": ["b"]}), "status.failureDomain is a list, not a string".to_owned()),
        (
            json!({"providerID": "other"}),
            json!({}),
            "spec.providerID is other, but the Machine's Node has id, which cannot change".to_owned(),
        ),
    ];
    for (spec, status, problem) in rows {
        let machine =
            planned_machine(MachineObserved { infrastructure: infrastructure(spec, status), ..running() });
        assert_eq!(said(&machine, "InfrastructureReady"), format!("True Ready * Infra t: {problem}"));
        assert!(said(&machine, "Ready").contains(&problem), "{problem}");
        assert_eq!(machine.spec.provider_id.as_deref(), Some("id"), "{problem}");
        let status = machine.status.unwrap();
        assert_eq!(status.addresses.len(), 1, "{problem}");
        assert_eq!(status.failure_domain.as_deref(), Some("a"), "{problem}");
        assert_eq!(status.node_ref.unwrap().name, "m");
    }
}

/// Until the Node is there, a provider may correct the ID; and when there is no such Node, it is followed.
#[test]
fn a_provider_id_is_followed_until_a_node_proves_it() {
    let other = || infrastructure(json!({"providerID": "other"}), json!({}));
    let with_node = |node: NodeState| MachineObserved { node, infrastructure: other(), ..running() };
    let id = |observed: MachineObserved| planned_machine(observed).spec.provider_id.unwrap();
    assert_eq!(id(with_node(NodeState::Absent)), "other");
    assert_eq!(id(with_node(NodeState::NotConnected)), "id", "the Node may still be there");
    let mut new = with_node(NodeState::NotConnected);
    Arc::make_mut(&mut new.machine).status = None;
    new.infrastructure =
        infrastructure(json!({"providerID": "other"}), json!({"initialization": {"provisioned": true}}));
    assert_eq!(id(new), "other", "there has been no Node yet");
}

#[test]
fn a_machine_without_an_id_waits_for_it() {
    for (spec, more) in [
        (json!({}), ""),
        (json!({"providerID": ""}), ""),
        (json!({"providerID": null}), ""),
        (json!({"providerID": false}), "\n* Infra t: spec.providerID is a boolean, not a string"),
    ] {
        let mut observed = running();
        let machine = Arc::make_mut(&mut observed.machine);
        (machine.spec.provider_id, machine.status) = (None, None);
        observed.infrastructure = infrastructure(spec, json!({"initialization": {"provisioned": true}}));
        observed.node = NodeState::Absent;
        let machine = planned_machine(observed);
        let ready = format!("False NotReady Infra is provisioned, but does not report spec.providerID{more}");
        assert_eq!(said(&machine, "InfrastructureReady"), ready);
        let waits = "Unknown InspectionFailed Waiting for Infra to report spec.providerID";
        assert_eq!(said(&machine, "NodeHealthy"), waits);
        assert_eq!(machine.status.unwrap().phase.as_deref(), Some("Provisioning"));
    }
}

#[test]
fn a_bootstrap_object_that_names_no_secret() {
    let rows = [
        (json!({}), "* Config b reports its data Secret as created, but names none in status.dataSecretName"),
        (json!({"dataSecretName": 7}), "* Config b: status.dataSecretName is a number, not a string"),
    ];
    for (more, problem) in rows {
        let mut status = json!({"initialization": {"dataSecretCreated": true}});
        status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut observed = running();
        let machine = Arc::make_mut(&mut observed.machine);
        machine.spec.bootstrap =
            serde_json::from_value(json!({"configRef": {"apiGroup": "test", "kind": "Config", "name": "b"}}))
                .unwrap();
        machine.status = None;
        observed.bootstrap =
            Reference::Found(external("test", "Config", json!({"/metadata/name": "b", "/status": status})));
        let machine = planned_machine(observed);
        assert!(said(&machine, "BootstrapConfigReady").contains(problem), "{problem}");
        assert_eq!(machine.spec.bootstrap.data_secret_name, None);
    }
}

/// A condition that the API server would refuse must not keep all other conditions from being written.
#[test]
fn a_condition_that_cannot_be_copied_is_told() {
    let rows = [
        (json!({"reason": "not ready!"}), "the reason \"not ready!\""),
        (json!({"lastTransitionTime": "soon"}), "the lastTransitionTime \"soon\""),
    ];
    for (more, part) in rows {
        let mut ready = json!({"type": "Ready", "status": "True"});
        ready.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let status = json!({"conditions": [ready]});
        let machine = planned_machine(MachineObserved {
            infrastructure: infrastructure(json!({"providerID": "id"}), status.clone()),
            ..running()
        });
        let cluster = planned(ClusterObserved {
            infrastructure: clusters::object("Infra", json!({"/status": status})),
            ..clusters::observed(&running_cluster())
        });
        for text in [said(&machine, "InfrastructureReady"), said(&cluster, "InfrastructureReady")] {
            assert!(text.starts_with("Unknown InvalidConditionReported") && text.contains(part), "{text}");
        }
    }
}

#[test]
fn several_nodes_with_one_id() {
    let observed =
        MachineObserved { node: NodeState::Ambiguous(vec!["a".to_owned(), "b".to_owned()]), ..running() };
    let machine = planned_machine(observed);
    let says = "Unknown InternalError Nodes a, b have the same spec.providerID id";
    assert_eq!(said(&machine, "NodeHealthy"), says);
    assert_eq!(machine.status.unwrap().node_ref.unwrap().name, "m", "its Node stays");
}

#[test]
fn a_secret_that_is_missing_or_of_another_cluster_is_told_until_the_machine_runs() {
    let problem = "* Secret s belongs to Cluster other: name a Secret of this Cluster";
    let observed = MachineObserved { data_secret_problem: Some(problem.to_owned()), ..running() };
    let plan = machine::plan(&observed);
    assert_eq!(said(&plan.machine, "BootstrapConfigReady"), format!("True DataSecretProvided {problem}"));
    let again = plan.action.requeue_after.unwrap();
    assert_eq!(again, std::time::Duration::from_secs(20));
    planned_machine(observed);
}
