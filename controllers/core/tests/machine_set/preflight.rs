//! Whether Machines may be created, given the state of the control plane.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::Reference;
use cluster_core::machine_set::plan;
use schemas::HasConditions;
use serde_json::{Value, json};

use super::{bootstrap, external, observed, parse, set, with};

const SKIP: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
const STEP: &str = "topology.internal.cluster.x-k8s.io/upgrade-step";

/// A control plane with this version in its spec, and these in its status.
fn plane(version: &str, running: &[&str]) -> Reference {
    let running: Vec<Value> =
        running.iter().map(|version| json!({"version": version, "replicas": 1})).collect();
    let more = json!({"/spec/version": version, "/status/versions": running});
    Reference::Found(external("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", more))
}

/// What the condition `ScalingUp` says after its first line, and the number of Machines that are created.
fn outcome(cluster: Value, set: Value, template: Value, plane: Reference) -> (String, usize) {
    let mut observed = observed(&set, Vec::new());
    let more = with(
        json!({"metadata": {"name": "plain", "namespace": "default", "uid": "plain"}, "spec": {}}),
        cluster,
    );
    observed.cluster = parse(&more);
    observed.bootstrap = bootstrap(template);
    observed.control_plane = plane;
    let plan = plan(&observed);
    let message = plan.wanted.condition("ScalingUp").unwrap().message.clone();
    let blocked = message.split_once(" is blocked because:\n").map(|(_, rest)| rest.to_owned());
    (blocked.unwrap_or_default(), plan.steps.own().count())
}

type Row = (&'static str, Value, Value, Value, Reference, &'static [&'static str]);

/// What, changes of the Cluster, the set and the bootstrap template, the control plane, the checks that fail.
fn rows() -> Vec<Row> {
    let skip = |checks: &str| json!({"/metadata/annotations": {SKIP: checks}});
    let topology = |version: &str| json!({"/spec/topology": {"classRef": {"name": "c"}, "version": version}});
    let stepping = |step: &str| json!({"/spec/topology": {"classRef": {"name": "c"}, "version": "v1.37.0"}, "/metadata/annotations": {STEP: step}});
    let version = |version: &str| json!({"/spec/template/spec/version": version});
    let none = || json!({});
    let stable = || plane("v1.36.0", &["v1.36.0"]);
    vec![
        ("no control plane object", none(), none(), none(), Reference::None, &[]),
        ("stable, the same version", none(), none(), none(), stable(), &[]),
        ("without a version", none(), none(), none(), Reference::Found(external("c", "Plane", none())), &[]),
        ("provisioning", none(), none(), none(), plane("v1.36.0", &[]), &["ControlPlaneIsStable"]),
        ("upgrading", none(), none(), none(), plane("v1.36.1", &["v1.36.0"]), &["ControlPlaneIsStable"]),
        (
            "a topology with another version",
            topology("v1.36.1"),
            none(),
            none(),
            stable(),
            &["ControlPlaneIsStable"],
        ),
        ("a topology with the same version", topology("v1.36.0"), none(), none(), stable(), &[]),
        ("a step of an upgrade was reached", stepping("v1.36.0"), none(), none(), stable(), &[]),
        (
            "the next step is to come",
            stepping("v1.36.5"),
            none(),
            none(),
            stable(),
            &["ControlPlaneIsStable"],
        ),
        (
            "a topology whose version is not in the set yet",
            topology("v1.36.0"),
            version("v1.36.1"),
            none(),
            stable(),
            &["ControlPlaneVersionSkew"],
        ),
        ("a patch version higher", none(), version("v1.36.1"), none(), stable(), &[]),
        (
            "a minor version higher",
            none(),
            version("v1.37.0"),
            none(),
            stable(),
            &["KubernetesVersionSkew", "KubeadmVersionSkew"],
        ),
        ("three minor versions lower", none(), version("v1.33.0"), none(), stable(), &["KubeadmVersionSkew"]),
        (
            "four minor versions lower",
            none(),
            version("v1.32.0"),
            none(),
            stable(),
            &["KubernetesVersionSkew", "KubeadmVersionSkew"],
        ),
        (
            "one is skipped",
            none(),
            version("v1.32.0"),
            skip(" KubeadmVersionSkew "),
            stable(),
            &["KubernetesVersionSkew"],
        ),
        ("all are skipped", none(), skip("All"), none(), plane("v1.36.0", &[]), &[]),
        (
            "skipped for all sets of a template",
            none(),
            none(),
            skip("ControlPlaneIsStable"),
            plane("v1.36.0", &[]),
            &[],
        ),
        (
            "the set decides first",
            none(),
            skip("KubeadmVersionSkew"),
            skip("All"),
            plane("v1.36.0", &[]),
            &["ControlPlaneIsStable"],
        ),
    ]
}

#[test]
fn what_keeps_machines_from_being_created() {
    for (what, cluster, changes, template, plane, failing) in rows() {
        let (message, created) = outcome(cluster, with(set(), changes), template, plane);
        let found: Vec<&str> = message
            .lines()
            .map(|line| line.rsplit_once("(\"").unwrap().1.split_once('"').unwrap().0)
            .collect();
        assert_eq!(found, failing, "{what}: {message}");
        assert_eq!(created, usize::from(failing.is_empty()), "{what}");
    }
}

#[test]
fn no_check_is_made_while_its_gate_is_off() {
    let mut observed = observed(&with(set(), json!({"/spec/template/spec/version": "v1.30.0"})), Vec::new());
    observed.control_plane = plane("v1.36.0", &["v1.36.0"]);
    assert_eq!(plan(&observed).steps.own().count(), 0);
    observed.features.machine_set_preflight_checks = false;
    assert_eq!(plan(&observed).steps.own().count(), 1);
}

#[test]
fn the_skew_of_kubeadm_is_that_of_kubeadm_only() {
    let mut observed = observed(&with(set(), json!({"/spec/template/spec/version": "v1.35.0"})), Vec::new());
    observed.control_plane = plane("v1.36.0", &["v1.36.0"]);
    observed.bootstrap = Reference::Found(external("bootstrap.cluster.x-k8s.io", "OtherTemplate", json!({})));
    assert_eq!(plan(&observed).steps.own().count(), 1);
}

#[test]
fn what_people_read() {
    let (message, _) = outcome(
        json!({"/spec/topology": {"classRef": {"name": "c"}, "version": "v1.37.0"}}),
        with(set(), json!({"/spec/template/spec/version": "v1.32.0"})),
        json!({}),
        plane("v1.36.0", &["v1.36.0"]),
    );
    let expected = "* KubeadmControlPlane default/t has a pending version upgrade to v1.37.0 (\"ControlPlaneIsStable\" preflight check failed)
* MachineSet version (v1.32.0) and ControlPlane version (v1.36.0) do not conform to the kubernetes version skew policy as MachineSet version is more than 3 minor versions older than the ControlPlane version (\"KubernetesVersionSkew\" preflight check failed)
* MachineSet version (v1.32.0) and ControlPlane version (v1.36.0) do not conform to kubeadm version skew policy as kubeadm only supports joining with the same major+minor version as the control plane (\"KubeadmVersionSkew\" preflight check failed)
* MachineSet version (v1.32.0) is not yet the same as the ControlPlane version (v1.36.0), waiting for version to be propagated to the MachineSet (\"ControlPlaneVersionSkew\" preflight check failed)";
    assert_eq!(message, expected);
    let (message, _) = outcome(
        json!({"/spec/topology": {"classRef": {"name": "c"}, "version": "v1.38.0"}, "/metadata/annotations": {STEP: "v1.37.0"}}),
        set(),
        json!({}),
        plane("v1.36.0", &["v1.36.0"]),
    );
    assert!(
        message.contains("has a pending version upgrade to v1.37.0 ("),
        "the step comes first: {message}"
    );
}
