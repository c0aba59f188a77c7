//! Facts as they are read off what exists.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster_topology::versions::{Facts, Hook, Hooks};
use cluster_topology::{ControlPlane, Workers};
use serde_json::{Value, json};

use crate::topology::support::{Fixture, typed};

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let mut current = fixture.current();
    let plane = json!({
        "kind": "Plane", "spec": { "version": "v1.35.0" },
        "status": { "versions": [{ "version": "v1.34.0" }, { "version": "v1.35.0" }] },
    });
    current.control_plane = Some(ControlPlane { object: plane, machines_template: None, health_check: None });
    let workers = |name: &str, version: &str| json!({ "metadata": { "name": name }, "spec": { "template": { "spec": { "version": version } } } });
    let deployment = |name: &str, version: &str, is_upgrading| Workers {
        object: Arc::new(typed(&workers(name, version))),
        bootstrap_template: Value::Null,
        infrastructure_template: Value::Null,
        health_check: None,
        is_upgrading,
    };
    current.machine_deployments.insert("md-0".into(), deployment("c1-md-0", "v1.34.0", false));
    current.machine_deployments.insert("gone".into(), deployment("c1-gone", "v1.33.0", true));
    fixture.current = Some(current);
    fixture
}

#[test]
fn what_exists_gives_the_facts() {
    let facts = Facts::of(&fixture().current()).expect("there is a topology");
    let plane = facts.control_plane.clone().expect("there is a control plane");
    assert_eq!((plane.version.as_str(), plane.is_provisioning, plane.is_upgrading), ("v1.35.0", false, true));
    assert_eq!(facts.machine_deployments.len(), 1, "only those of the topology get a version");
    assert_eq!(facts.machine_deployments[0].object, Some(("c1-md-0".into(), "v1.34.0".into())));
    assert_eq!(facts.machine_pools[0].object, None);
    assert_eq!(facts.upgrading_machine_deployments, BTreeSet::from(["c1-gone".to_owned()]));
    assert_eq!(
        facts.lowest_workers.as_deref(),
        Some("v1.33.0"),
        "those that go count as long as they are there"
    );
    assert_eq!((facts.concurrency, facts.has_machine_deployments, facts.has_machine_pools), (1, true, false));
}

#[test]
fn the_cluster_says_how_many_are_upgraded_at_once() {
    for (text, expected) in [("3", 3), ("0", 1), ("-1", 1), ("many", 1)] {
        let mut fixture = fixture();
        fixture.cluster["metadata"]["annotations"] =
            json!({ "topology.cluster.x-k8s.io/upgrade-concurrency": text });
        assert_eq!(
            Facts::of(&fixture.current()).expect("there is a topology").concurrency,
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_held_sequence_defers_all_later_workers() {
    let mut fixture = fixture();
    let entry = |name: &str, annotation: Option<&str>| {
        let annotations: serde_json::Map<String, Value> = annotation
            .map(|name| (format!("topology.cluster.x-k8s.io/{name}"), json!("")))
            .into_iter()
            .collect();
        json!({ "class": "small", "name": name, "metadata": { "annotations": annotations } })
    };
    fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"] = json!([
        entry("a", Some("defer-upgrade")),
        entry("b", None),
        entry("c", Some("hold-upgrade-sequence")),
        entry("d", None),
    ]);
    let facts = Facts::of(&fixture.current()).expect("there is a topology");
    let deferred: Vec<bool> = facts.machine_deployments.iter().map(|entry| entry.is_deferred).collect();
    assert_eq!(deferred, [true, false, true, true]);
    assert!(!facts.machine_pools[0].is_deferred, "each kind has its own sequence");
}

#[test]
fn broken_facts_are_an_error() {
    let mut without = fixture();
    without.cluster["spec"] = json!({});
    assert!(Facts::of(&without.current()).expect_err("no topology").contains("spec.topology"));
    let mut broken = fixture();
    if let Some(plane) = broken.current.as_mut().and_then(|current| current.control_plane.as_mut()) {
        plane.object["spec"]["version"] = json!("new");
    }
    assert!(Facts::of(&broken.current()).expect_err("no version").contains("\"new\""));
}

#[test]
fn annotations_of_the_cluster_say_which_hooks_are_pending() {
    let annotations = [
        (
            "runtime.cluster.x-k8s.io/pending-hooks",
            "AfterClusterUpgrade,AfterWorkersUpgrade,AfterSomethingElse",
        ),
        ("before-upgrade.hook.cluster.cluster.x-k8s.io/mine", "x"),
        ("other", ""),
    ];
    let annotations = annotations.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let hooks = Hooks::of_annotations(true, &annotations);
    assert_eq!(hooks.pending, BTreeSet::from([Hook::AfterClusterUpgrade, Hook::AfterWorkersUpgrade]));
    assert_eq!(hooks.held_by.len(), 1);
    assert!(hooks.is_pending(Hook::AfterWorkersUpgrade));
    let off = Hooks::of_annotations(false, &annotations);
    assert!(!off.is_pending(Hook::AfterWorkersUpgrade), "without the feature gate nothing is pending");
}
