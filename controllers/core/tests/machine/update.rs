//! The update of a Machine in place.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use cluster_core::Reference;
use cluster_core::machine::update::remembered;
use cluster_core::machine::{self, LastUpdate, Observed, Plan, UpdateOutcome};
use engine::in_place::{PENDING_HOOKS, Progress, UPDATE_IN_PROGRESS};
use engine::object::annotation;
use schemas::HasConditions;
use serde_json::{Value, json};

use super::{bare, running};

/// A Machine with these annotations, whose infrastructure is marked or not.
fn observed(annotations: Value, is_infrastructure_marked: bool) -> Observed {
    let mut observed = running(json!({"annotations": annotations}), json!({}), bare());
    let status = Arc::make_mut(&mut observed.machine).status.get_or_insert_default();
    let initialization = status.initialization.get_or_insert_default();
    initialization.infrastructure_provisioned = Some(true);
    initialization.bootstrap_data_secret_created = Some(true);
    if let Reference::Found(object) = &mut observed.infrastructure {
        let object = Arc::make_mut(&mut object.object);
        object.metadata.uid = Some("infra".to_owned());
        if is_infrastructure_marked {
            object.metadata.annotations = Some([(UPDATE_IN_PROGRESS.to_owned(), String::new())].into());
        }
    }
    observed
}

fn marked() -> Value {
    json!({UPDATE_IN_PROGRESS: "", PENDING_HOOKS: "UpdateMachine"})
}

fn last(outcome: UpdateOutcome, seconds: i64) -> impl Fn(&mut Observed) {
    move |observed| {
        let next = observed.now + TimeDelta::seconds(seconds);
        observed.last_update = Some(LastUpdate { outcome: outcome.clone(), next, failures: 0 });
    }
}

/// Whether the update is called, whether it is completed, and the condition `Updating`.
fn decided(observed: &Observed) -> (bool, bool, String) {
    let plan = machine::plan(observed);
    let updating = plan.machine.condition("Updating").unwrap();
    let text = format!("{} {} {}", updating.status, updating.reason, updating.message);
    (plan.update, plan.completes_update, text.trim_end().to_owned())
}

#[test]
fn who_has_the_next_step() {
    const IN_PROGRESS: &str = "True InPlaceUpdating In-place update in progress";
    type Change = Box<dyn Fn(&mut Observed)>;
    type Row = (&'static str, Value, bool, Change, (bool, bool, &'static str));
    let only_mark = || json!({UPDATE_IN_PROGRESS: ""});
    let waits = |text: &str| UpdateOutcome::Waits(text.to_owned());
    let failed = || UpdateOutcome::Failed("no answer".to_owned());
    let nothing = || -> Change { Box::new(|_| ()) };
    let failure = "True InPlaceUpdateFailed UpdateMachine hook failed: no answer";
    let rows: Vec<Row> = vec![
        ("no update", json!({}), false, nothing(), (false, false, "False NotUpdating")),
        ("the owner has only begun", only_mark(), true, nothing(), (false, false, IN_PROGRESS)),
        ("the object is not written yet", marked(), false, nothing(), (false, false, IN_PROGRESS)),
        ("all is written", marked(), true, nothing(), (true, false, IN_PROGRESS)),
        (
            "the machine has no Node",
            marked(),
            true,
            Box::new(|it| Arc::make_mut(&mut it.machine).status.as_mut().unwrap().node_ref = None),
            (false, false, IN_PROGRESS),
        ),
        (
            "it takes time",
            marked(),
            true,
            Box::new(last(waits("half"), 9)),
            (false, false, "True InPlaceUpdating In-place update in progress: half"),
        ),
        ("its time has come", marked(), true, Box::new(last(waits(""), 0)), (true, false, IN_PROGRESS)),
        ("it has failed", marked(), true, Box::new(last(failed(), 9)), (false, false, failure)),
        ("it is tried again", marked(), true, Box::new(last(failed(), 0)), (true, false, failure)),
        (
            "it is done",
            marked(),
            true,
            Box::new(last(UpdateOutcome::Done, 0)),
            (false, true, "False NotUpdating"),
        ),
        (
            "it was interrupted at the end",
            json!({PENDING_HOOKS: "UpdateMachine"}),
            true,
            nothing(),
            (false, true, "False NotUpdating"),
        ),
        (
            "the gate is off",
            marked(),
            true,
            Box::new(|it| it.updates_in_place = false),
            (false, false, IN_PROGRESS),
        ),
        (
            "the machine is gone",
            marked(),
            false,
            Box::new(|it| it.infrastructure = Reference::NotFound),
            (false, false, "True InPlaceUpdateFailed In-place update not possible: Infra not found"),
        ),
    ];
    for (what, annotations, is_marked, change, expected) in rows {
        let mut observed = observed(annotations, is_marked);
        change(&mut observed);
        let (update, completes, condition) = decided(&observed);
        assert_eq!((update, completes, condition.as_str()), expected, "{what}");
    }
}

#[test]
fn a_machine_that_is_deleted_is_not_updated() {
    let mut observed = observed(marked(), true);
    let deleted = serde_json::from_value(json!("2026-11-20T00:00:00Z")).unwrap();
    Arc::make_mut(&mut observed.machine).metadata.deletion_timestamp = Some(deleted);
    assert!(!machine::plan(&observed).update);
}

#[test]
fn all_marks_go_in_the_end_and_other_hooks_stay() {
    let hooks = json!({UPDATE_IN_PROGRESS: "", PENDING_HOOKS: "Other,UpdateMachine", "own": "x"});
    let mut observed = observed(hooks, true);
    last(UpdateOutcome::Done, 0)(&mut observed);
    let Plan { machine, external, .. } = machine::plan(&observed);
    assert_eq!(json!(machine.metadata.annotations), json!({PENDING_HOOKS: "Other", "own": "x"}));
    let [change] = external.as_slice() else { panic!("{external:?}") };
    assert_eq!(annotation(&change.wanted, UPDATE_IN_PROGRESS), None, "{:?}", change.wanted.metadata);
    assert!(change.wanted.metadata.owner_references.is_some(), "together with other changes of the object");
}

#[test]
fn a_machine_that_is_updated_is_not_up_to_date_nor_ready() {
    let mut observed = observed(marked(), true);
    let template =
        json!({"spec": {"clusterName": "c", "template": {"spec": {"clusterName": "c"}}, "selector": {}}});
    observed.set = Some(Arc::new(serde_json::from_value(template.clone()).unwrap()));
    observed.deployment = Some(Arc::new(serde_json::from_value(template).unwrap()));
    last(UpdateOutcome::Waits("half".to_owned()), 9)(&mut observed);
    let machine = machine::plan(&observed).machine;
    let up_to_date = machine.condition("UpToDate").unwrap();
    assert_eq!((up_to_date.status.as_str(), up_to_date.reason.as_str()), ("False", "Updating"));
    assert_eq!(up_to_date.message, "* In-place update in progress: half");
    assert!(
        machine.condition("Ready").unwrap().message.contains("* Updating: In-place update in progress: half")
    );
}

#[test]
fn a_failed_call_is_repeated_ever_later() {
    let now = machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap();
    let mut last = None;
    let mut waits = Vec::new();
    for _ in 0..12 {
        let next = remembered(last.as_ref(), Err("no".to_owned()), now);
        waits.push((next.next - now).num_seconds());
        last = Some(next);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    let answer = Progress::Waits { message: String::new(), retry_after: Duration::from_secs(7) };
    let waiting = remembered(last.as_ref(), Ok(answer), now);
    assert_eq!(((waiting.next - now).num_seconds(), waiting.failures), (7, 0));
}
