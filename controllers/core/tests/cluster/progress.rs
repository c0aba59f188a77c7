//! How a Cluster gets from one phase to the next: infrastructure, control plane, kubeconfig, failures.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::cluster::{Observed, plan};
use engine::owners;
use engine::steps::{Delete, Patch};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use serde_json::{Value, json};

use super::{cluster, object, observed};
use crate::core::machine_set::{machine, parse, with};

fn new() -> Value {
    with(cluster(), json!({"/status": {}, "/spec/controlPlaneEndpoint": null}))
}

fn reached(cluster: &Cluster) -> (bool, bool, String) {
    let status = cluster.status.clone().unwrap();
    let initialization = status.initialization.unwrap_or_default();
    let is = |value: Option<bool>| value == Some(true);
    (
        is(initialization.infrastructure_provisioned),
        is(initialization.control_plane_initialized),
        status.phase.unwrap(),
    )
}

#[test]
fn phases() {
    let not_yet = |kind: &str| object(kind, json!({"/status/initialization": {}}));
    let address = json!({"/spec/controlPlaneEndpoint": {"host": "h", "port": 6443}});
    let infra = || object("Infra", address.clone());
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": ["x"]});
    let topology = json!({"/spec/topology": {"classRef": {"name": "c"}, "version": "v1.36.0"}, "/spec/infrastructureRef": null, "/spec/controlPlaneRef": null});
    let alone = json!({"/spec/infrastructureRef": null, "/spec/controlPlaneRef": null});
    let done = cluster()["status"].clone();
    let done = json!({"/status": done, "/spec/controlPlaneEndpoint": {"host": "h", "port": 6443}});
    let none = || Reference::None;
    // Columns: what, changes of a new Cluster, infrastructure, control plane, what is reached, errors.
    type Row<'a> = (&'a str, Value, Reference, Reference, (bool, bool, &'a str), usize);
    let rows: Vec<Row<'_>> = vec![
        (
            "neither is ready",
            json!({}),
            not_yet("Infra"),
            not_yet("Plane"),
            (false, false, "Provisioning"),
            0,
        ),
        (
            "objects do not exist yet",
            json!({}),
            Reference::NotFound,
            Reference::NotFound,
            (false, false, "Provisioning"),
            0,
        ),
        (
            "without an endpoint",
            json!({}),
            object("Infra", json!({})),
            not_yet("Plane"),
            (true, false, "Provisioning"),
            0,
        ),
        ("infrastructure", json!({}), infra(), not_yet("Plane"), (true, false, "Provisioned"), 0),
        ("both", json!({}), infra(), object("Plane", json!({})), (true, true, "Provisioned"), 0),
        (
            "nothing is undone",
            done.clone(),
            not_yet("Infra"),
            not_yet("Plane"),
            (true, true, "Provisioned"),
            0,
        ),
        (
            "what was there is missing",
            done.clone(),
            Reference::NotFound,
            Reference::NotFound,
            (true, true, "Provisioned"),
            2,
        ),
        (
            "in deletion that is no error",
            done,
            Reference::NotFound,
            Reference::NotFound,
            (true, true, "Deleting"),
            0,
        ),
        (
            "cannot be read",
            json!({}),
            Reference::Failed("a".into()),
            Reference::Failed("b".into()),
            (false, false, "Provisioning"),
            2,
        ),
        ("no references", alone, none(), none(), (true, false, "Pending"), 0),
        ("no references yet, but a topology", topology, none(), none(), (false, false, "Pending"), 0),
        ("no references, in deletion", json!({}), none(), none(), (false, false, "Deleting"), 0),
    ];
    for (what, changes, infrastructure, control_plane, (provisioned, initialized, phase), errors) in rows {
        let changed = with(new(), changes);
        let changed = if phase == "Deleting" { with(changed, going.clone()) } else { changed };
        let plan = plan(&Observed { infrastructure, control_plane, ..observed(&changed) });
        assert_eq!(reached(&plan.wanted), (provisioned, initialized, phase.to_owned()), "{what}");
        assert_eq!(plan.errors.len(), errors, "{what}: {:?}", plan.errors);
    }
}

#[test]
fn what_is_copied_from_the_infrastructure() {
    let domains = json!([{"name": "b", "controlPlane": true}, {"name": "a"}]);
    let more = json!({"/spec/controlPlaneEndpoint": {"host": "h", "port": 6443}, "/status/failureDomains": domains,
        "/metadata/ownerReferences": null, "/metadata/labels": {}});
    let plan = plan(&Observed { infrastructure: object("Infra", more), ..observed(&new()) });
    let endpoint = plan.wanted.spec.control_plane_endpoint.clone().unwrap();
    assert_eq!((endpoint.host.as_deref(), endpoint.port), (Some("h"), Some(6443)));
    let domains = serde_json::to_value(&plan.wanted.status.as_ref().unwrap().failure_domains).unwrap();
    assert_eq!(domains, json!([{"name": "a", "controlPlane": false}, {"name": "b", "controlPlane": true}]));
    let expected = [
        "patch Infra default/t",
        "event InfrastructureReady",
        "event ControlPlaneInitialized",
        "event Provisioned",
    ];
    assert_eq!(plan.steps.texts(), expected);
    let change = plan.steps.of::<Patch<DynamicObject>>().next().unwrap();
    assert!(owners::is_owned_by(&change.wanted, "plain"));
    assert_eq!(change.wanted.metadata.labels.as_ref().unwrap()["cluster.x-k8s.io/cluster-name"], "plain");
}

#[test]
fn failures_of_providers_for_older_clients() {
    let broken = json!({"/status/failureReason": "Broken", "/status/failureMessage": "the rack burns"});
    let first = plan(&Observed { infrastructure: object("Infra", broken), ..observed(&cluster()) }).wanted;
    let failure = |cluster: &Cluster| cluster.status.clone().unwrap().deprecated.unwrap().v1beta1.unwrap();
    assert_eq!(failure(&first).failure_reason.as_deref(), Some("Broken"));
    let message =
        "Failure detected from referenced resource test/v1beta2, Kind=Infra with name \"t\": the rack burns";
    assert_eq!(failure(&first).failure_message.as_deref(), Some(message));
    assert_eq!(first.status.as_ref().unwrap().phase.as_deref(), Some("Failed"));
    let mut again = observed(&cluster());
    again.cluster = std::sync::Arc::new(first);
    let later = plan(&again).wanted;
    assert_eq!(failure(&later).failure_reason.as_deref(), Some("Broken"), "until somebody removes it");
}

#[test]
fn who_makes_the_kubeconfig() {
    let secret = || Some(parse(&json!({"metadata": {"name": "plain-ca", "namespace": "default"}})));
    let alone = with(cluster(), json!({"/spec/controlPlaneRef": null}));
    let without_endpoint = with(alone.clone(), json!({"/spec/controlPlaneEndpoint": null}));
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": ["x"]});
    // Columns: what, Cluster, whether it has a control plane object, its authority, whether there is a kubeconfig, whether one is made.
    let rows = [
        ("the control plane's controller", cluster(), true, secret(), false, false),
        ("this one", alone.clone(), false, secret(), false, true),
        ("there is one", alone.clone(), false, secret(), true, false),
        ("no authority yet", alone.clone(), false, None, false, false),
        ("no endpoint yet", without_endpoint, false, secret(), false, false),
        ("in deletion", with(alone, going), false, secret(), false, false),
    ];
    for (what, cluster, has_object, authority, has_kubeconfig, expected) in rows {
        let mut observed = Observed { authority, has_kubeconfig, ..observed(&cluster) };
        if !has_object {
            observed.control_plane = Reference::None;
        }
        if what == "no endpoint yet" {
            observed.infrastructure = object("Infra", json!({}));
        }
        assert_eq!(plan(&observed).steps.own().count(), usize::from(expected), "{what}");
    }
}

#[test]
fn machines_initialize_a_control_plane_without_an_object() {
    let alone = with(new(), json!({"/spec/controlPlaneRef": null}));
    let of = |machines| {
        let observed =
            Observed { control_plane: Reference::None, control_plane_machines: machines, ..observed(&alone) };
        reached(&plan(&observed).wanted).1
    };
    assert!(!of(vec![]));
    assert!(!of(vec![machine("a", json!({"/status/nodeRef": null}))]));
    assert!(of(vec![machine("a", json!({}))]));
}

/// Only a topology has hooks that hold up a deletion.
#[test]
fn the_deletion_of_a_cluster_without_topology_waits_for_no_hook() {
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": ["x"]});
    let plan = plan(&observed(&with(cluster(), going)));
    assert_eq!(plan.steps.of::<Delete<DynamicObject>>().count(), 1);
}

fn with_topology(cluster: Value) -> Value {
    with(cluster, json!({"/spec/topology": {"classRef": {"name": "c"}, "version": "v1.36.0"}}))
}

#[test]
fn the_deletion_of_a_cluster_with_topology_waits_for_extensions() {
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": ["x"]});
    let asked = json!({"/metadata/annotations": {"runtime.cluster.x-k8s.io/ok-to-delete": ""}});
    let rows = [
        ("extensions are called", with_topology(cluster()), true, 0),
        ("they have nothing against it", with(with_topology(cluster()), asked), true, 1),
        ("no topology", cluster(), true, 1),
        ("extensions are not called", with_topology(cluster()), false, 1),
    ];
    for (what, cluster, runtime_sdk, expected) in rows {
        let mut observed = observed(&with(cluster, going.clone()));
        observed.features.runtime_sdk = runtime_sdk;
        let plan = plan(&observed);
        assert_eq!(plan.steps.of::<Delete<DynamicObject>>().count(), expected, "{what}");
        let deleting = plan.wanted.condition("Deleting").unwrap();
        assert_eq!(deleting.reason == "WaitingForBeforeDeleteHook", expected == 0, "{what}: {deleting:?}");
    }
}

#[test]
fn a_topology_that_is_still_to_set_references_is_waited_for() {
    let authority = Some(Arc::new(Secret::default()));
    let mut half = observed(&with_topology(with(cluster(), json!({"/spec/controlPlaneRef": null}))));
    half.control_plane = Reference::None;
    half.has_kubeconfig = false;
    half.authority = authority;
    let plan = plan(&half);
    let is_written = plan.steps.texts().iter().any(|step| !step.starts_with("event "));
    assert!(!is_written && plan.errors.is_empty(), "{plan:?}");
    let available = plan.wanted.condition("ControlPlaneAvailable").unwrap();
    assert_eq!(available.message, "Waiting for cluster topology to be reconciled");
}
