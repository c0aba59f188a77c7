//! Updates of Machines in place.

use engine::in_place::{Decision, PENDING_HOOKS, UPDATE_IN_PROGRESS};
use engine::object::annotation;
use schemas::controlplane::KubeadmControlPlane;

use super::*;

const DELETE: &str = "cluster.x-k8s.io/delete-machine";
const REMEDIATE: &str = "cluster.x-k8s.io/remediate-machine";

fn ask(name: &str) -> Step {
    Step::AskForUpdate(name.to_owned())
}

fn start(name: &str) -> Step {
    Step::StartUpdate(name.to_owned())
}

fn delete(name: &str) -> Step {
    Step::DeleteMachine(name.to_owned())
}

fn annotate(machine: &mut Machine, key: &str, value: &str) {
    machine.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

fn change_plane(fixture: &mut Fixture, change: impl FnOnce(&mut KubeadmControlPlane)) {
    change(Arc::make_mut(&mut fixture.observed.control_plane));
}

/// A control plane of v1.36.0 with three Machines and no surplus, of which `c` has that version and leads etcd.
fn fixture() -> Fixture {
    let machines =
        vec![machine("a", "v1.35.0", 30), machine("b", "v1.35.0", 20), machine("c", "v1.36.0", 10)];
    let mut fixture = Fixture::new(3, "v1.36.0", machines);
    fixture.observed.updates_in_place = true;
    fixture.etcd().leader = 3;
    change_plane(&mut fixture, |plane| {
        let rollout = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}});
        plane.spec.rollout = Some(from(rollout));
    });
    fixture
}

fn decided(decision: Decision) -> Fixture {
    let mut fixture = fixture();
    fixture.observed.decisions.insert("a".to_owned(), decision);
    fixture
}

#[test]
fn an_update_comes_before_a_deletion() {
    assert_eq!(fixture().steps(), [ask("a")], "it is asked first");
    assert_eq!(decided(Decision::InPlace).steps(), [start("a")]);
    assert_eq!(decided(Decision::Rollout(Vec::new())).steps(), [delete("a")], "nobody can do it");
    let mut off = fixture();
    off.observed.updates_in_place = false;
    assert_eq!(off.steps(), [delete("a")]);
}

#[test]
fn machines_that_are_not_updated() {
    let steps = |change: &dyn Fn(&mut Fixture)| {
        let mut fixture = fixture();
        change(&mut fixture);
        fixture.steps()
    };
    let mark = |key: &'static str| {
        move |fixture: &mut Fixture| {
            fixture.change(0, |it| annotate(it, key, ""));
        }
    };
    assert_eq!(steps(&mark(DELETE)), [delete("a")]);
    assert_eq!(steps(&mark(REMEDIATE)), [delete("a")]);
    assert_eq!(steps(&|fixture| fixture.observed.machines[0].config = None), [delete("a")]);
    assert_eq!(steps(&|fixture| fixture.observed.machines[0].cloned_from = None), [delete("a")]);
    let too_old = |fixture: &mut Fixture| {
        change_plane(fixture, |plane| {
            let after = (now() - Duration::minutes(15)).to_rfc3339();
            plane.spec.rollout.get_or_insert_default().after = Some(after);
        });
    };
    assert_eq!(steps(&too_old), [delete("a")]);
}

#[test]
fn with_enough_new_machines_the_rest_go() {
    let mut fixture = fixture();
    change_plane(&mut fixture, |plane| plane.spec.replicas = Some(1));
    assert_eq!(fixture.steps(), [delete("a")]);
}

/// With a surplus, one Machine is created first, so that there is one more than needed while the others are updated.
#[test]
fn a_surplus_machine_comes_first() {
    let mut fixture = fixture();
    change_plane(&mut fixture, |plane| plane.spec.rollout = None);
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, None)]);
}

/// Makes the API server of a Machine unhealthy.
fn hurt(fixture: &mut Fixture, name: &str) {
    fixture.view().pods.remove(&format!("kube-apiserver-{name}"));
}

#[test]
fn the_control_plane_must_be_stable() {
    let mut fixture = fixture();
    hurt(&mut fixture, "b");
    assert_eq!(fixture.steps(), [], "another Machine is unhealthy");
}

#[test]
fn a_start_that_was_interrupted_is_finished_before_anything_else() {
    let mut fixture = fixture();
    fixture.change(1, |machine| annotate(machine, UPDATE_IN_PROGRESS, ""));
    assert_eq!(fixture.steps(), [start("b")]);
    fixture.observed.updates_in_place = false;
    assert_eq!(fixture.steps(), [], "as upstream, nothing is scaled");
}

#[test]
fn nothing_is_scaled_or_replaced_during_an_update() {
    for annotations in [vec![UPDATE_IN_PROGRESS, PENDING_HOOKS], vec![PENDING_HOOKS]] {
        let mut fixture = fixture();
        fixture.change(2, |machine| {
            for key in &annotations {
                annotate(machine, key, if *key == PENDING_HOOKS { "UpdateMachine" } else { "" });
            }
        });
        assert_eq!(fixture.steps(), [], "{annotations:?}");
        change_plane(&mut fixture, |plane| plane.spec.replicas = Some(5));
        assert_eq!(fixture.steps(), [], "{annotations:?}");
    }
}

#[test]
fn a_machine_under_update_is_not_up_to_date() {
    let mut fixture = fixture();
    fixture.change(2, |machine| {
        annotate(machine, UPDATE_IN_PROGRESS, "");
        annotate(machine, PENDING_HOOKS, "UpdateMachine");
        let updating = json!({"type": "Updating", "status": "True", "reason": "InPlaceUpdating",
            "message": "In-place update in progress: half", "lastTransitionTime": "2026-11-21T00:00:00Z"});
        machine.status.get_or_insert_default().conditions = from(json!([updating]));
    });
    let plan = plan(&fixture.observed, now());
    let condition = plan.machines[2].condition("UpToDate").unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "Updating"));
    assert_eq!(condition.message, "* In-place update in progress: half");
    let rolling = plan.control_plane.condition("RollingOut").unwrap();
    assert!(rolling.message.contains("Rolling out 3 not up-to-date replicas"), "{}", rolling.message);
    assert_eq!(plan.control_plane.status.unwrap().up_to_date_replicas, Some(0));
    assert!(annotation(&plan.machines[2], UPDATE_IN_PROGRESS).is_some(), "the Machine controller removes it");
}
