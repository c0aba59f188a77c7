//! Tests of `kubelet::pod::plan`.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kubelet::pod::plan::{Plan, RECOVERED, delay, plan};
use kubelet::pod::state::{Hook, Phase, State, Termination};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

fn ended(code: i32, restarts: i32, is_init: bool) -> State {
    let end = Termination {
        code,
        signal: None,
        reason: String::new(),
        message: String::new(),
        started: at(0),
        finished: at(10),
    };
    State { phase: Phase::Terminated(end), restarts, ..State::new("c", is_init) }
}

fn pod(policy: &str) -> Pod {
    Pod {
        spec: Some(PodSpec { restart_policy: Some(policy.to_owned()), ..PodSpec::default() }),
        ..Pod::default()
    }
}

#[test]
fn init_containers_come_one_after_the_other() {
    let running = Phase::Running { since: at(0), started: true, ready: true };
    let new = |is_init| State::new("c", is_init);
    let runs = State { phase: running, ..new(true) };
    for (states, expected) in [
        (vec![new(true), new(true), new(false)], vec![0]),
        (vec![runs, new(true), new(false)], vec![]),
        (vec![ended(0, 0, true), new(true), new(false)], vec![1]),
        (vec![ended(0, 0, true), ended(0, 0, true), new(false), new(false)], vec![2, 3]),
        (vec![ended(1, 0, true), new(true), new(false)], vec![0]),
    ] {
        assert_eq!(plan(&pod("Always"), &states, at(20)).start, expected);
    }
}

#[test]
fn sidecars_start_in_order_and_end_last() {
    let sidecar = |phase| State { is_sidecar: true, phase, ..State::new("s", true) };
    let runs = |started| Phase::Running { since: at(0), started, ready: false };
    let waits = || State::new("c", true).phase;
    let own = |phase| State { phase, ..State::new("c", false) };
    let end = |code| ended(code, 1, false).phase;
    for (policy, states, starts, stops) in [
        ("Always", vec![sidecar(waits()), State::new("i", true), own(waits())], vec![0], vec![]),
        ("Always", vec![sidecar(runs(false)), State::new("i", true), own(waits())], vec![], vec![]),
        ("Always", vec![sidecar(runs(true)), State::new("i", true), own(waits())], vec![1], vec![]),
        ("Always", vec![sidecar(runs(true)), ended(0, 0, true), own(waits())], vec![2], vec![]),
        // It is started again beside the others, whatever the policy of the Pod.
        ("Never", vec![sidecar(end(0)), own(runs(true))], vec![0], vec![]),
        ("Always", vec![sidecar(runs(false)), own(end(1))], vec![1], vec![]),
        // A Pod that is complete ends them, one after the other.
        ("Never", vec![sidecar(runs(true)), sidecar(runs(true)), own(end(1))], vec![], vec![1]),
        ("Never", vec![sidecar(runs(true)), sidecar(end(0)), own(end(1))], vec![], vec![0]),
        ("OnFailure", vec![sidecar(runs(true)), own(end(1))], vec![1], vec![]),
    ] {
        let planned = plan(&pod(policy), &states, at(20));
        assert_eq!((planned.start, planned.stop), (starts, stops), "{policy} {states:?}");
    }
}

#[test]
fn later_containers_wait_for_a_hook() {
    let runs = Phase::Running { since: at(0), started: false, ready: false };
    for (hook, expected) in
        [(Hook::Runs, vec![]), (Hook::Done, vec![1]), (Hook::Failed(String::new()), vec![1])]
    {
        let first = State { phase: runs.clone(), hook, ..State::new("c", false) };
        assert_eq!(plan(&pod("Always"), &[first, State::new("d", false)], at(20)).start, expected);
    }
}

#[test]
fn restarts_follow_the_policy() {
    for (policy, code, restarts) in [
        ("Always", 0, true),
        ("Always", 1, true),
        ("OnFailure", 0, false),
        ("OnFailure", 1, true),
        ("Never", 1, false),
    ] {
        let planned = plan(&pod(policy), &[ended(code, 0, false)], at(20));
        assert_eq!(!planned.start.is_empty(), restarts, "{policy} {code}");
    }
}

#[test]
fn restarts_become_slower() {
    let seconds = |restarts| delay(restarts, Duration::from_secs(10)).as_secs();
    assert_eq!([0, 1, 2, 3, 9, 10, 1000].map(seconds), [0, 1, 2, 4, 256, 300, 300]);
    assert_eq!(delay(1000, RECOVERED), Duration::ZERO);
    let planned = plan(&pod("Always"), &[ended(1, 3, false)], at(11));
    let expected = Plan { back_off: vec![(0, at(14))], wake: Some(at(14)), ..Plan::default() };
    assert_eq!(planned, expected);
}
