//! Table tests of Machines with other owners.

use super::*;

/// Returns a Machine without a controller.
fn orphan(version: &str) -> Machine {
    let mut machine = machine("x", version, 90);
    let reference = json!({"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "x"});
    machine.spec.bootstrap.config_ref = Some(from(reference));
    machine
}

fn orphans(machine: Machine) -> Fixture {
    let mut fixture = Fixture::new(1, "v1.36.0", Vec::new());
    fixture.observed.orphans = vec![Arc::new(machine)];
    fixture.observed.secrets.clear();
    fixture.observed.kubeconfig = Kubeconfig::Missing;
    fixture
}

#[test]
fn machines_without_a_controller_are_adopted_before_anything_else() {
    for version in ["v1.35.9", "v1.36.0", "v1.37.0"] {
        assert_eq!(
            orphans(orphan(version)).steps(),
            [Step::AdoptMachines(vec!["x".to_owned()])],
            "{version}"
        );
    }
    let mut without_version = orphan("v1.36.0");
    without_version.spec.version = None;
    assert_eq!(orphans(without_version).steps().len(), 1, "it is somebody's decision");

    let mut early = orphans(orphan("v1.36.0"));
    Arc::make_mut(&mut early.observed.cluster).spec.control_plane_endpoint = None;
    assert!(!early.steps().contains(&Step::AdoptMachines(vec!["x".to_owned()])));
    Arc::make_mut(&mut early.observed.cluster).status = None;
    assert_eq!(early.steps(), [], "nor before the infrastructure");
}

#[test]
fn a_machine_of_another_version_or_bootstrap_is_not_adopted() {
    let mut other = orphan("v1.36.0");
    other.spec.bootstrap.config_ref.as_mut().unwrap().kind = "OtherConfig".to_owned();
    let mut none = orphan("v1.36.0");
    none.spec.bootstrap.config_ref = None;
    let skew = |version: &str| {
        format!(
            "Could not adopt Machine ns/x: its version ({version:?}) is outside supported +/- one minor version skew from KCP's (\"v1.36.0\")"
        )
    };
    let unable = |found: &str| {
        format!(
            "unable to adopt Machine ns/x: expected a ConfigRef of kind KubeadmConfig but instead found {found}"
        )
    };
    let rows = [
        (orphan("v1.34.0"), skew("v1.34.0"), true),
        (orphan("v1.38.0"), skew("v1.38.0"), true),
        (orphan("v2.36.0"), skew("v2.36.0"), true),
        (other, unable("OtherConfig"), false),
        (none, unable("none"), false),
    ];
    for (machine, text, is_event) in rows {
        let fixture = orphans(machine);
        let plan = plan(&fixture.observed, now());
        assert_eq!((plan.steps, plan.errors), (Vec::new(), vec![text.clone()]));
        let event = plan.event.map(|event| (event.reason, event.message));
        assert_eq!(event, is_event.then_some(("AdoptionFailed", text)));
    }
}

#[test]
fn nothing_is_decided_about_a_control_plane_that_is_ours_in_part() {
    let mut fixture = Fixture::new(5, "v1.36.0", three("v1.36.0"));
    fixture.etcd().members.push(Member { id: 9, name: "x".into(), ..Member::default() });
    fixture.observed.foreign = vec!["x (of Other o)".to_owned()];
    assert_eq!(fixture.steps(), [], "its member is no stray");
    let errors = plan(&fixture.observed, now()).errors;
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].ends_with("refusing to operate in mixed management mode: x (of Other o)"),
        "{errors:?}"
    );
    fixture.deleting(1);
    assert_eq!(fixture.steps(), []);
    fixture.observed.orphans = vec![Arc::new(orphan("v1.36.0"))];
    assert_eq!(fixture.steps(), [Step::AdoptMachines(vec!["x".to_owned()])]);
    Arc::make_mut(&mut fixture.observed.control_plane).metadata.deletion_timestamp =
        Some(engine::time::time(now()));
    let steps = fixture.steps();
    assert_eq!(steps.len(), 5, "what is ours goes with the control plane: {steps:?}");
}
