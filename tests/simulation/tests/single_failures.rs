//! Simulations with scripts that were not drawn: one thing goes wrong at each step.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::fmt::Debug;
use std::time::Duration;

use simulation::drawn::script::{Act, Action, ClusterShape, Failure, Script, When};
use simulation::drawn::{Report, play};
use simulation::parallel;
use test_plane::requests::{Delivery, Fault};

use crate::seeds::number;

/// The distance of the steps at which something goes wrong. `cargo xtask simulate --thorough` takes each of them.
const STRIDE: u64 = 80;

pub(crate) fn shape(control_plane: i64, workers: i64) -> ClusterShape {
    ClusterShape {
        namespace: "default",
        name: "c0".to_owned(),
        control_plane,
        workers,
        surge: 1,
        unavailable: 0,
        unhealthy: "50%",
        startup: 1,
        is_of_class: false,
    }
}

/// A script for one cluster, whose user waits for this number of seconds before each action.
pub(crate) fn script(shape: ClusterShape, actions: &[(u64, Action)]) -> Script {
    let acts = actions.iter().map(|(seconds, action)| Act(When::After(*seconds), *action)).collect();
    Script { clusters: vec![shape], acts, ..Script::default() }
}

/// A cluster of 1 + 1 that comes up and is upgraded.
fn short() -> Script {
    script(
        shape(1, 1),
        &[(0, Action::Apply(0)), (0, Action::Settle), (0, Action::Upgrade(0)), (0, Action::Settle)],
    )
}

/// Plays `script` with each of `numbers`, and returns what fails.
fn failures(numbers: u64, script: impl Fn(u64) -> Script + Sync) -> Vec<String> {
    failures_each(numbers, number("SIMULATE_WORLD_STRIDE", STRIDE), script)
}

/// Plays `script` with each `stride`th of `numbers`, and returns what fails.
pub(crate) fn failures_each(numbers: u64, stride: u64, script: impl Fn(u64) -> Script + Sync) -> Vec<String> {
    parallel::failures(0..numbers.div_ceil(stride), |index| {
        let number = 1 + index * stride;
        play(1, &script(number)).err().map(|error| format!("at {number}: {error:#}"))
    })
}

/// Asserts that two simulations did the same, and shows the first difference.
pub(crate) fn assert_same<T: PartialEq + Debug>(one: &[T], other: &[T]) {
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    assert_eq!(differs.map(|at| (at, &one[at], &other[at])), None);
    assert_eq!(one.len(), other.len());
}

pub(crate) fn assert_none(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The start of a cluster until it is at rest.
fn start(shape: ClusterShape) -> Report {
    play(1, &script(shape, &[(0, Action::Apply(0)), (0, Action::Settle)])).expect("nothing goes wrong")
}

#[test]
fn what_is_deleted_while_a_cluster_comes_up_is_deleted_to_the_end() {
    let writes = start(shape(1, 1)).writes;
    let actions = [
        Action::Delete(0),
        Action::DeleteMachines(0, 1, 0),
        Action::DeleteMachines(0, 0, 1),
        Action::DeleteWorkers(0),
    ];
    for action in actions {
        assert_none(&failures(writes, |write| {
            let acts = vec![
                Act(When::After(0), Action::Apply(0)),
                Act(When::AtWrite(write), action),
                Act(When::After(0), Action::Settle),
            ];
            Script { clusters: vec![shape(1, 1)], acts, ..Script::default() }
        }));
    }
}

#[test]
fn a_write_that_fails_is_made_good() {
    let writes = play(1, &short()).expect("nothing goes wrong").writes;
    let faults = [
        Fault::Refused(500),
        Fault::Refused(409),
        Fault::Lost,
        Fault::Edited,
        Fault::Slow(Duration::from_secs(5)),
    ];
    assert_none(&failures(writes, |write| {
        let fault = faults[usize::try_from(write).unwrap_or_default() % faults.len()];
        Script { faults: vec![(write, fault)], ..short() }
    }));
}

#[test]
fn an_event_that_is_lost_is_made_good_by_the_resync_and_a_second_one_changes_nothing() {
    let counting = Script { deliveries: vec![(u64::MAX, Delivery::Repeated)], ..short() };
    let events = play(1, &counting).expect("nothing goes wrong").events;
    assert!(events > 100, "{events}");
    assert_none(&failures(events, |event| {
        let delivery = if event % 3 == 0 { Delivery::Repeated } else { Delivery::Dropped };
        Script { deliveries: vec![(event, delivery)], ..short() }
    }));
}

#[test]
fn a_storm_of_health_checks_replaces_nobody_beyond_the_limit() {
    let storm = [
        (0, Action::Apply(0)),
        (0, Action::Settle),
        (0, Action::Break(0, 1, 8, Failure::KubeletStopped)),
        (600, Action::ScaleWorkers(0, 6)),
        (60, Action::Settle),
        (0, Action::Break(0, 2, 3, Failure::NodeNotReady)),
        (600, Action::Settle),
    ];
    play(1, &script(shape(5, 10), &storm)).expect("5 + 10 machines");
}

#[test]
fn a_cluster_is_scaled_while_it_is_upgraded() {
    let actions = [
        (0, Action::Apply(0)),
        (0, Action::Settle),
        (0, Action::Upgrade(0)),
        (2, Action::ScaleWorkers(0, 6)),
        (4, Action::ScaleControlPlane(0, 5)),
        (9, Action::ScaleWorkers(0, 2)),
        (3, Action::ScaleControlPlane(0, 1)),
        (0, Action::Settle),
    ];
    let report = play(1, &script(ClusterShape { surge: 2, unavailable: 1, ..shape(3, 4) }, &actions));
    report.expect("scaled and upgraded");
}
