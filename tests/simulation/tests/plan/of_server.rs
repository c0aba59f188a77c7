//! Changes of a cluster that runs: nothing of it starts again, and each change has its actions.

use std::sync::OnceLock;

use anyhow::{Result, anyhow, ensure};
use chrono::{DateTime, Utc};
use firstlight::plan::action::Verb;
use firstlight::plan::{Ending, Plan, State};
use serde_json::json;

use super::server::{changed, example, example_state, planned};

/// The state, which is the same for all tests here.
fn state() -> Result<&'static (State, DateTime<Utc>)> {
    static STATE: OnceLock<Result<(State, DateTime<Utc>), String>> = OnceLock::new();
    let state = STATE.get_or_init(|| example_state().map_err(|error| format!("{error:#}")));
    state.as_ref().map_err(|error| anyhow!("{error}"))
}

/// Returns how many actions of this kind on objects of this kind there are.
fn count(plan: &Plan, verb: Verb, kind: &str) -> usize {
    plan.actions.iter().filter(|action| action.action == verb && action.kind == kind).count()
}

fn machines() -> Result<usize> {
    Ok(state()?.0.objects.iter().filter(|object| object["kind"] == "Machine").count())
}

#[test]
fn nothing_is_to_be_done_where_nothing_changes() -> Result<()> {
    let plan = planned(state()?, &example("clusterclass")?)?;
    ensure!(plan.ending == Ending::NothingToDo && plan.actions.is_empty(), "{plan:#?}");
    ensure!(plan.remaining.is_empty() && plan.notes.is_empty(), "{plan:#?}");
    Ok(())
}

#[test]
fn an_upgrade_replaces_each_machine_and_is_planned_the_same_each_time() -> Result<()> {
    let documents = changed("version: v1.34.0", "version: v1.35.0")?;
    let plan = planned(state()?, &documents)?;
    ensure!(plan.ending == Ending::Finished, "{plan:#?}");
    let all = machines()?;
    ensure!((plan.machines.created, plan.machines.deleted) == (all, all), "{all}: {:#?}", plan);
    ensure!(
        plan.machines.most_above_wanted >= 1 && plan.machines.fewest_available > 0,
        "{:?}",
        plan.machines
    );
    let first = plan.actions.first().map(|action| (action.kind.as_str(), action.reason.as_str()));
    ensure!(first == Some(("Cluster", "version v1.34.0 → v1.35.0")), "{first:?}");
    let of_machines = |action: &&firstlight::plan::follow::Action| action.kind == "Machine";
    for action in plan.actions.iter().filter(of_machines).filter(|action| action.action == Verb::Delete) {
        ensure!(action.reason.starts_with("Version v1.34.0, v1.35.0 required"), "{action:?}");
        ensure!(action.until_seconds.is_some(), "{action:?}");
    }
    ensure!(!plan.waits.is_empty(), "an upgrade of workers waits for the control plane");
    ensure!(planned(state()?, &documents)? == plan, "two plans differ");
    Ok(())
}

#[test]
fn more_replicas_create_only_what_is_missing() -> Result<()> {
    let plan = planned(
        state()?,
        &changed("class: general\n          replicas: 2", "class: general\n          replicas: 4")?,
    )?;
    ensure!(plan.ending == Ending::Finished, "{plan:#?}");
    ensure!((plan.machines.created, plan.machines.deleted) == (2, 0), "{plan:#?}");
    ensure!(count(&plan, Verb::Update, "MachineDeployment") == 1, "{plan:#?}");
    Ok(())
}

#[test]
fn fewer_replicas_delete_the_others() -> Result<()> {
    let plan = planned(
        state()?,
        &changed("class: general\n          replicas: 2", "class: general\n          replicas: 1")?,
    )?;
    ensure!((plan.machines.created, plan.machines.deleted) == (0, 1), "{plan:#?}");
    let deleted = plan.actions.iter().find(|action| action.action == Verb::Delete);
    ensure!(deleted.is_some_and(|action| action.reason == "scaled down"), "{deleted:?}");
    Ok(())
}

#[test]
fn a_change_of_the_class_rotates_a_template() -> Result<()> {
    let plan = planned(state()?, &changed("value: 60", "value: 70")?)?;
    ensure!(plan.ending == Ending::Finished, "{plan:#?}");
    ensure!(count(&plan, Verb::Rotate, "MachineDeployment") >= 1, "{plan:#?}");
    ensure!(plan.machines.created == plan.machines.deleted && plan.machines.created > 0, "{plan:#?}");
    Ok(())
}

#[test]
fn a_paused_cluster_waits_and_does_not_hold_up_the_plan() -> Result<()> {
    let (mut state, now) = state()?.clone();
    for cluster in state.objects.iter_mut().filter(|object| object["kind"] == "Cluster") {
        cluster["spec"]["paused"] = true.into();
    }
    let plan = planned(&(state, now), &changed("version: v1.34.0", "version: v1.35.0")?)?;
    ensure!(plan.ending == Ending::Unfinished && plan.machines.created == 0, "{plan:#?}");
    let causes: Vec<&String> = plan.remaining.iter().flat_map(|remaining| &remaining.causes).collect();
    ensure!(causes.iter().any(|cause| cause.contains("paused")), "{causes:?}");
    Ok(())
}

#[test]
fn a_hook_that_nobody_removes_is_named() -> Result<()> {
    let (mut state, now) = state()?.clone();
    for machine in state.objects.iter_mut().filter(|object| object["kind"] == "Machine") {
        machine["metadata"]["annotations"]["pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"] =
            json!("site");
    }
    let plan = planned(
        &(state, now),
        &changed("class: general\n          replicas: 2", "class: general\n          replicas: 1")?,
    )?;
    ensure!(plan.ending == Ending::Unfinished, "{plan:#?}");
    let causes: Vec<&String> = plan.remaining.iter().flat_map(|remaining| &remaining.causes).collect();
    ensure!(causes.iter().any(|cause| cause.contains("pre-drain hooks")), "{plan:#?}");
    ensure!(plan.waits.iter().any(|wait| wait.cause.contains("pre-drain hooks")), "{plan:#?}");
    Ok(())
}
