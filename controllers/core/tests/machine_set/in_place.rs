//! Machines that go to another MachineSet and are updated there.

use std::sync::Arc;

use cluster_core::machine_set::{Observed, Plan, plan};
use engine::in_place::{
    ACKNOWLEDGED_MOVE, MOVE_MACHINES_TO, PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS, RECEIVE_MACHINES_FROM,
    UPDATE_IN_PROGRESS,
};
use engine::object::annotation;
use engine::owners;
use engine::steps::{Apply, Merge};
use kube::api::DynamicObject;
use schemas::cluster::Machine;
use serde_json::{Value, json};

use super::{CORE, applied, deleted, external, machine, observed, parse, patched, set, with};

const HASH: &str = "machine-template-hash";

/// An old MachineSet that wants `replicas` and hands its Machines over to the MachineSet `new`.
fn old(replicas: u32, machines: Vec<Arc<Machine>>) -> Observed {
    let moves =
        with(set(), json!({"/metadata/annotations": {MOVE_MACHINES_TO: "new"}, "/spec/replicas": replicas}));
    let receives = json!({"/metadata/name": "new", "/metadata/uid": "new", "/metadata/labels": {HASH: "2-new"},
        "/metadata/annotations": {RECEIVE_MACHINES_FROM: "other,set"}});
    Observed { target: Some(parse(&with(set(), receives))), ..observed(&moves, machines) }
}

fn moved(plan: &Plan) -> Vec<&str> {
    let moved = patched(plan).into_iter().filter(|machine| owners::is_controlled_by(*machine, "new"));
    moved.map(|machine| machine.metadata.name.as_deref().unwrap()).collect()
}

#[test]
fn a_machine_goes_with_its_label_and_both_marks() {
    let plan = plan(&old(0, vec![machine("a", json!({}))]));
    assert_eq!(plan.steps.texts(), ["patch Machine default/a"], "nothing takes it back");
    let wanted = patched(&plan)[0];
    let owners = json!([{"apiVersion": CORE, "kind": "MachineSet", "name": "new", "uid": "new",
        "controller": true, "blockOwnerDeletion": true}]);
    assert_eq!(json!(wanted.metadata.owner_references), owners);
    assert_eq!(wanted.metadata.labels.as_ref().unwrap()[HASH], "2-new");
    let marks = json!({UPDATE_IN_PROGRESS: "", PENDING_ACKNOWLEDGE_MOVE: ""});
    assert_eq!(json!(wanted.metadata.annotations), marks);
}

#[test]
fn which_machines_go() {
    let updating = || json!({"/metadata/annotations": {UPDATE_IN_PROGRESS: ""}});
    let asked = || json!({"/metadata/annotations": {"cluster.x-k8s.io/delete-machine": ""}});
    let without_node = || json!({"/status/nodeRef": null});
    let going = || json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z"});
    let rows: Vec<(u32, Vec<Value>, &[&str])> = vec![
        (3, vec![json!({}), json!({}), json!({})], &[]),
        (1, vec![json!({}), json!({}), json!({})], &["a", "b"]),
        // Those with priority first.
        (2, vec![json!({}), json!({}), asked()], &["c"]),
        // One that is updated stays, and so does one that has not started.
        (2, vec![updating(), json!({}), json!({})], &["b"]),
        (2, vec![without_node(), json!({}), json!({})], &["b"]),
        // One that is deleted counts.
        (2, vec![json!({}), going(), json!({})], &[]),
        (1, vec![json!({}), going(), json!({})], &["a"]),
    ];
    for (replicas, machines, expected) in rows {
        let name = |index: usize| ["a", "b", "c"][index];
        let all = machines.iter().enumerate().map(|(index, more)| machine(name(index), more.clone()));
        let plan = plan(&old(replicas, all.collect()));
        assert_eq!(moved(&plan), expected, "{replicas} {machines:?}");
        assert_eq!(deleted(&plan), [""; 0]);
    }
}

#[test]
fn nothing_goes_to_a_set_that_does_not_expect_it() {
    let machines = || vec![machine("a", json!({}))];
    let refused = |observed: &Observed| {
        let plan = plan(observed);
        assert_eq!(plan.steps.texts(), ["apply Machine default/a"]);
        plan.errors.join("; ")
    };
    let gone = Observed { target: None, ..old(0, machines()) };
    assert_eq!(refused(&gone), "MachineSet set moves its Machines to MachineSet new, which does not exist");
    let mut stranger = old(0, machines());
    stranger.target = Some(parse(&with(set(), json!({"/metadata/name": "new"}))));
    assert_eq!(refused(&stranger), "MachineSet new does not expect Machines of MachineSet set yet");
}

/// The new MachineSet with a Machine that has come to it; the MachineDeployment has counted it or not.
fn new(annotations: Value, arrived: Value) -> Observed {
    let wants = json!({"/metadata/annotations": annotations, "/spec/replicas": 1, "/spec/template/spec/failureDomain": "new"});
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": "a"});
    let arrived = machine(
        "a",
        json!({"/metadata/annotations": arrived,
            "/spec/bootstrap": {"configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), "dataSecretName": "s"},
            "/spec/infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "DevMachine")}),
    );
    let part = |group: &str, kind: &str| {
        let owner =
            json!([{"apiVersion": CORE, "kind": "Machine", "name": "a", "uid": "a", "controller": true}]);
        external(
            group,
            kind,
            json!({"/metadata/name": "a", "/metadata/uid": kind, "/metadata/ownerReferences": owner}),
        )
    };
    let parts = vec![
        part("bootstrap.cluster.x-k8s.io", "KubeadmConfig"),
        part("infrastructure.cluster.x-k8s.io", "DevMachine"),
    ];
    Observed { parts, ..observed(&with(set(), wants), vec![arrived]) }
}

fn arrived() -> Value {
    json!({UPDATE_IN_PROGRESS: "", PENDING_ACKNOWLEDGE_MOVE: ""})
}

#[test]
fn when_an_update_starts() {
    let receives = || json!({RECEIVE_MACHINES_FROM: "old"});
    let counted = || json!({RECEIVE_MACHINES_FROM: "old", ACKNOWLEDGED_MOVE: "b,a"});
    let started = || json!({UPDATE_IN_PROGRESS: "", PENDING_HOOKS: "UpdateMachine"});
    let rows = [
        (receives(), arrived(), false),
        (counted(), arrived(), true),
        // The MachineDeployment wants no more Machines here, but this one is here.
        (json!({}), arrived(), true),
        // The start was interrupted.
        (receives(), json!({UPDATE_IN_PROGRESS: ""}), true),
        (counted(), started(), false),
        (json!({}), json!({}), false),
    ];
    for (set, machine, expected) in rows {
        let plan = plan(&new(set.clone(), machine.clone()));
        assert_eq!(plan.errors, [""; 0]);
        let starts = plan.steps.of::<Merge<Machine>>().count();
        assert_eq!(starts, usize::from(expected), "{set} {machine}");
        assert_eq!(applied(&plan).len(), 1, "written once: {set} {machine}");
    }
}

#[test]
fn what_an_update_writes() {
    let observed = new(json!({ACKNOWLEDGED_MOVE: "a", RECEIVE_MACHINES_FROM: "old"}), arrived());
    let plan = plan(&observed);
    let expected = [
        "apply DevMachine default/a",
        "apply KubeadmConfig default/a",
        "apply Machine default/a",
        "merge Machine default/a",
        "event SuccessfulStartInPlaceUpdate",
    ];
    assert_eq!(plan.steps.texts(), expected);
    let wanted = applied(&plan)[0];
    assert_eq!(wanted.spec.version.as_deref(), Some("v1.36.0"));
    assert_eq!(wanted.spec.failure_domain.as_deref(), Some("new"));
    assert_eq!(wanted.spec.infrastructure_ref.name, "a");
    assert_eq!(annotation(wanted, UPDATE_IN_PROGRESS), None, "the Machine's marks are not applied");
    for Apply { read, wanted, .. } in plan.steps.of::<Apply<DynamicObject>>() {
        assert_eq!(
            wanted.metadata.uid,
            read.as_ref().unwrap().metadata.uid,
            "one that is gone is not made again"
        );
        assert_eq!(annotation(wanted, UPDATE_IN_PROGRESS), Some(""));
        assert_eq!(annotation(wanted, "cluster.x-k8s.io/cloned-from-name"), Some("t"));
    }
}

#[test]
fn an_update_needs_its_objects() {
    let observed = Observed { parts: Vec::new(), ..new(json!({}), arrived()) };
    let expected = "the update of Machine a can't be started: DevMachine a does not exist";
    assert_eq!(plan(&observed).errors, [expected]);
}

/// Until the MachineDeployment has counted a Machine, `spec.replicas` does not, and no other Machine goes because of it.
#[test]
fn machines_that_are_not_counted_displace_no_others() {
    let with_another = |annotations: Value| {
        let mut observed = new(annotations, arrived());
        observed.machines.push(machine("b", json!({})));
        deleted(&plan(&observed)).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with_another(json!({RECEIVE_MACHINES_FROM: "old"})), [""; 0]);
    assert_eq!(with_another(json!({})), ["a"], "the one that is updated goes first");
}

#[test]
fn a_machine_that_is_updated_does_not_count_as_available() {
    let conditions: Vec<Value> = ["Ready", "Available", "UpToDate"]
        .iter()
        .map(|kind| json!({"type": kind, "status": "True", "reason": kind, "lastTransitionTime": "2026-11-21T00:00:00Z"}))
        .collect();
    let counts = |annotations: Value| {
        let more = json!({"/metadata/annotations": annotations, "/status/conditions": conditions});
        let status = plan(&observed(&set(), vec![machine("a", more)])).wanted.status.unwrap();
        [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas]
    };
    assert_eq!(counts(json!({})), [Some(1); 4]);
    assert_eq!(counts(json!({UPDATE_IN_PROGRESS: ""})), [Some(1), Some(0), Some(0), Some(0)]);
}
