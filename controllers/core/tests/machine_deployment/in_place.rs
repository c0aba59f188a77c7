//! Rollouts by updates in place.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster_core::machine_deployment::rollout::{Limits, Set, rolling_update};
use cluster_core::machine_deployment::{Observed, Updates, plan};
use engine::in_place::{
    ACKNOWLEDGED_MOVE, Decision, MOVE_MACHINES_TO, PENDING_ACKNOWLEDGE_MOVE, RECEIVE_MACHINES_FROM,
    UPDATE_IN_PROGRESS,
};
use engine::object::annotation;
use schemas::cluster::{Machine, MachineSet};
use serde_json::{Value, json};

use super::{applied, deployment, observed, replicas, set};
use crate::core::machine_set::{machine, with};

/// New set, old sets that move, whether a Machine is updated; wanted intents.
type Row = ((i32, i32, i32), &'static [(i32, i32, i32)], bool, &'static [i32]);

fn check(limits: &Limits, rows: &[Row]) {
    for (new, old, is_updating, wanted) in rows {
        let mut new_set = Set { up_to_date: new.2, ..Set::new(new.0, new.1, new.2) };
        let moving = |set: &(i32, i32, i32)| Set { moves: true, ..Set::new(set.0, set.1, set.2) };
        let mut old_sets: Vec<Set> = old.iter().map(moving).collect();
        rolling_update(limits, &mut new_set, &mut old_sets, *is_updating);
        let intents: Vec<i32> = std::iter::once(&new_set).chain(&old_sets).map(|set| set.intent).collect();
        assert_eq!(intents, *wanted, "new {new:?} old {old:?} updating {is_updating}");
    }
}

#[test]
fn one_surplus_machine_is_created_only_to_begin() {
    let rows: &[Row] = &[
        // Nothing may be unavailable, so one more is needed.
        ((0, 0, 0), &[(3, 3, 3)], false, &[1, 3]),
        ((1, 1, 0), &[(3, 3, 3)], false, &[1, 3]),
        // It is there: the first old one moves.
        ((1, 1, 1), &[(3, 3, 3)], false, &[1, 2]),
        // While it is updated, none is created in its place.
        ((2, 2, 1), &[(2, 2, 2)], true, &[2, 2]),
        ((2, 2, 2), &[(2, 2, 2)], false, &[2, 1]),
        // The last old one is not needed any more.
        ((3, 3, 3), &[(1, 1, 1)], false, &[3, 0]),
    ];
    check(&Limits { replicas: 3, surge: 1, unavailable: 0 }, rows);
}

#[test]
fn with_some_that_may_be_unavailable_no_machine_is_created() {
    let rows: &[Row] = &[
        ((0, 0, 0), &[(3, 3, 3)], false, &[0, 2]),
        ((1, 1, 0), &[(2, 2, 2)], true, &[1, 2]),
        ((1, 1, 1), &[(2, 2, 2)], false, &[1, 1]),
        ((2, 2, 2), &[(1, 1, 1)], false, &[2, 0]),
    ];
    check(&Limits { replicas: 3, surge: 0, unavailable: 1 }, rows);
    // The same with a surge, which is not used.
    check(&Limits { replicas: 3, surge: 1, unavailable: 1 }, rows);
}

#[test]
fn machines_that_are_missing_are_created_beside_updates() {
    // The MachineDeployment was scaled from three to six, and its template has changed.
    let rows: &[Row] = &[((0, 0, 0), &[(3, 3, 3)], false, &[3, 3])];
    check(&Limits { replicas: 6, surge: 1, unavailable: 0 }, rows);
}

fn decided(sets: Vec<Arc<MachineSet>>, decision: Decision, machines: Vec<Arc<Machine>>) -> Observed {
    let old = sets.iter().filter(|set| set.metadata.name.as_deref().unwrap().starts_with("old"));
    let decisions: BTreeMap<String, Decision> =
        old.map(|set| (set.metadata.uid.clone().unwrap(), decision.clone())).collect();
    Observed { updates: Updates::Decided(decisions), machines, ..observed(&deployment(), sets) }
}

/// The annotations about moves of each wanted MachineSet, by name.
fn moves(observed: &Observed) -> Vec<(String, [Option<String>; 3])> {
    let plan = plan(observed);
    let read = |set: &MachineSet| {
        [MOVE_MACHINES_TO, RECEIVE_MACHINES_FROM, ACKNOWLEDGED_MOVE]
            .map(|key| annotation(set, key).map(str::to_owned))
    };
    applied(&plan).into_iter().map(|set| (set.metadata.name.clone().unwrap(), read(set))).collect()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn sets_are_told_where_their_machines_go() {
    let sets = || vec![set("old-a", 1, (1, 1, 1), json!({})), set("old-b", 2, (2, 2, 2), json!({}))];
    let expected = |new: &str| {
        vec![
            (new.to_owned(), [None, text("old-a,old-b"), None]),
            ("old-a".to_owned(), [text(new), None, None]),
            ("old-b".to_owned(), [text(new), None, None]),
        ]
    };
    // The new MachineSet is made with the annotation.
    assert_eq!(moves(&decided(sets(), Decision::InPlace, Vec::new())), expected("md-aaaaa"));
    let with_new = [vec![set("new", 3, (1, 1, 1), json!({}))], sets()].concat();
    assert_eq!(moves(&decided(with_new.clone(), Decision::InPlace, Vec::new())), expected("new"));
    let refused = moves(&decided(with_new, Decision::Rollout(Vec::new()), Vec::new()));
    assert!(refused.iter().all(|(_, annotations)| *annotations == [None, None, None]), "{refused:?}");
}

/// A Machine of the new MachineSet that has come from another one.
fn arrived(name: &str) -> Arc<Machine> {
    let owner = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "new", "uid": "new", "controller": true}]);
    let marks = json!({UPDATE_IN_PROGRESS: "", PENDING_ACKNOWLEDGE_MOVE: ""});
    machine(name, json!({"/metadata/ownerReferences": owner, "/metadata/annotations": marks}))
}

#[test]
fn each_machine_that_arrives_is_counted_once() {
    let rows: [(Value, Vec<&str>, i32, Option<&str>); 4] = [
        // None has arrived, and nothing may be unavailable: a surplus Machine is created.
        (json!({}), vec![], 2, None),
        (json!({}), vec!["b", "a"], 3, Some("a,b")),
        (json!({ACKNOWLEDGED_MOVE: "a"}), vec!["a"], 1, Some("a")),
        (json!({ACKNOWLEDGED_MOVE: "a"}), vec!["a", "c"], 2, Some("a,c")),
    ];
    for (annotations, names, expected, acknowledged) in rows {
        let new = set("new", 3, (1, 1, 1), json!({"/metadata/annotations": annotations}));
        let sets = vec![new, set("old", 1, (2, 2, 2), json!({}))];
        let machines = names.iter().map(|name| arrived(name)).collect();
        let observed = decided(sets, Decision::InPlace, machines);
        assert_eq!(replicas(&plan(&observed))[0], ("new".to_owned(), expected), "{names:?}");
        assert_eq!(moves(&observed)[0].1[2].as_deref(), acknowledged, "{names:?}");
    }
}

#[test]
fn without_a_decision_nothing_is_rolled_out() {
    let sets = vec![set("new", 3, (1, 1, 1), json!({})), set("old", 1, (2, 2, 2), json!({}))];
    let failed = Updates::Failed("no answer".to_owned());
    let plan = plan(&Observed { updates: failed, ..observed(&deployment(), sets) });
    assert!(plan.steps.is_empty());
    assert_eq!(plan.errors, ["no answer"]);
}

#[test]
fn a_user_who_deletes_machines_gets_no_updates() {
    let rollout = json!({"/spec/rollout": {"strategy": {"type": "OnDelete"}}});
    let sets = vec![set("new", 3, (1, 1, 1), json!({})), set("old", 1, (2, 2, 2), json!({}))];
    let mut observed = decided(sets, Decision::InPlace, vec![arrived("a")]);
    observed.deployment = crate::core::machine_set::parse(&with(deployment(), rollout));
    assert!(moves(&observed).iter().all(|(_, annotations)| *annotations == [None, None, None]));
}
