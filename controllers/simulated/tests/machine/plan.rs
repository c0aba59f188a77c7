//! Tests of `simulated::machine::plan`.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::conditions;
use schemas::infrastructure::{InMemoryComponent, InMemoryMachineBackend, InMemoryProvisioning};
use schemas::meta::Condition;
use simulated::machine::failures;
use simulated::machine::failures::{Draw, Failure};
use simulated::machine::observed::Observed;
use simulated::machine::plan::{Plan, WAITING_FOR_STARTUP, duration, plan};
use simulated::names::FAILURE_RATE;
use simulated::workload::part::Part;
use simulated::workload::symptoms::{NodeHealth, Symptoms};

fn component(duration: &str) -> Option<InMemoryComponent> {
    let provisioning = InMemoryProvisioning { startup_duration: duration.into(), ..Default::default() };
    Some(InMemoryComponent { provisioning: Some(provisioning) })
}

fn backend() -> InMemoryMachineBackend {
    InMemoryMachineBackend {
        vm: component("10s"),
        node: component("2s"),
        etcd: component("2s"),
        api_server: component("2s"),
    }
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

fn condition(part: Part, status: &str, reason: &str, seconds: i64) -> Condition {
    let time = machinery::clock::rfc3339(at(seconds));
    Condition { last_transition_time: time, ..conditions::new(part.condition(), status, reason, "") }
}

fn reasons(plan: &Plan) -> Vec<&str> {
    plan.conditions.iter().map(|condition| condition.reason.as_str()).collect()
}

#[test]
fn the_gates_come_first() {
    let base = Observed { control_plane: false, ..Observed::default() };
    let cases = [
        (Observed { ..base.clone() }, "WaitingForClusterInfrastructureReady"),
        (Observed { infrastructure_provisioned: true, ..base.clone() }, "WaitingForControlPlaneInitialized"),
        (
            Observed { infrastructure_provisioned: true, control_plane_initialized: true, ..base.clone() },
            "WaitingForBootstrapData",
        ),
        (
            Observed { infrastructure_provisioned: true, control_plane: true, ..base.clone() },
            "WaitingForBootstrapData",
        ),
    ];
    for (observed, expected) in cases {
        let plan = plan(&observed, at(0));
        assert_eq!(plan.conditions[0].reason, expected, "{observed:?}");
        assert!(plan.conditions[1..].iter().all(|condition| condition.reason == "WaitingForVMProvisioned"));
        assert!(plan.running.is_empty() && plan.due_after.is_none());
    }
}

#[test]
fn parts_start_one_after_the_other() {
    let backend = backend();
    let observed = |conditions| Observed {
        backend: Some(&backend),
        conditions,
        control_plane: true,
        has_bootstrap_data: true,
        infrastructure_provisioned: true,
        ..Observed::default()
    };
    let waiting = [condition(Part::Vm, "False", WAITING_FOR_STARTUP, 0)];
    let first = plan(&observed(&waiting), at(4));
    assert_eq!((first.due_after, first.running.len()), (Some(Duration::from_secs(6)), 0));
    let second = plan(&observed(&waiting), at(10));
    assert_eq!(second.running, [Part::Vm]);
    assert_eq!(second.due_after, Some(Duration::from_secs(2)));
    assert_eq!(
        reasons(&second),
        ["Provisioned", WAITING_FOR_STARTUP, "WaitingForNodeProvisioned", "WaitingForNodeProvisioned"]
    );
    let node =
        [condition(Part::Vm, "True", "Provisioned", 10), condition(Part::Node, "True", "Provisioned", 12)];
    let third = plan(&observed(&node), at(14));
    assert_eq!(third.running, [Part::Vm, Part::Node, Part::Etcd, Part::ApiServer]);
    assert_eq!(third.due_after, None);
}

#[test]
fn without_durations_or_when_started_before_everything_runs_at_once() {
    let slow = backend();
    for (backend, bootstrapped) in [(None, false), (Some(&slow), true)] {
        let observed = Observed {
            backend,
            bootstrapped,
            control_plane: true,
            has_bootstrap_data: true,
            infrastructure_provisioned: true,
            ..Observed::default()
        };
        assert_eq!(plan(&observed, at(0)).running.len(), 4);
    }
}

#[test]
fn what_runs_stays_whatever_happens_around_it() {
    let running =
        [condition(Part::Vm, "True", "Provisioned", 0), condition(Part::Node, "True", "Provisioned", 0)];
    let observed = Observed { conditions: &running, ..Observed::default() };
    assert_eq!(plan(&observed, at(0)).running, [Part::Vm, Part::Node]);
}

#[test]
fn failures_show_after_their_time_and_heal() {
    let annotated = |name: &str, value: &str| {
        BTreeMap::from([(format!("simulated.firstlight.dev/{name}"), value.to_owned())])
    };
    let running =
        [condition(Part::Vm, "True", "Provisioned", 0), condition(Part::Node, "True", "Provisioned", 10)];
    let sick = [running.as_slice(), &[conditions::is_true(failures::CONDITION, "x")]].concat();
    let none = BTreeMap::new();
    let at_once = annotated("kubelet-stopped", "");
    let later = annotated("kubelet-stopped", "1m");
    let stopped = Some(Symptoms { node: NodeHealth::Unreachable, ..Symptoms::default() });
    let healthy = Some(Symptoms::default());
    for (what, annotations, conditions, symptoms, due) in [
        ("without failures", &none, running.as_slice(), None, None),
        ("at once", &at_once, &running, stopped, None),
        ("later", &later, &running, None, Some(40)),
        ("it stays", &at_once, &sick, stopped, None),
        ("healed", &none, &sick, healthy, None),
        ("put off", &later, &sick, healthy, Some(40)),
    ] {
        let annotations = Some(annotations);
        let observed = Observed { conditions, annotations, ..Observed::default() };
        let plan = plan(&observed, at(30));
        assert_eq!((plan.symptoms, plan.due_after), (symptoms, due.map(Duration::from_secs)), "{what}");
        assert_eq!(plan.failure.is_some(), symptoms == stopped, "{what}");
    }
}

#[test]
fn a_machine_whose_bootstrap_hangs_has_infrastructure_and_no_node() {
    let key = Failure::BootstrapHangs.annotation().to_owned();
    let annotations = BTreeMap::from([(key, String::new())]);
    let observed = Observed {
        control_plane: true,
        has_bootstrap_data: true,
        infrastructure_provisioned: true,
        annotations: Some(&annotations),
        ..Observed::default()
    };
    let hangs = plan(&observed, at(0));
    assert_eq!(hangs.running, [Part::Vm]);
    assert_eq!(
        reasons(&hangs),
        ["Provisioned", "BootstrapHangs", "WaitingForNodeProvisioned", "WaitingForNodeProvisioned"]
    );
    assert!(hangs.bootstrap_hangs && hangs.failure.is_some());
    let running =
        [condition(Part::Vm, "True", "Provisioned", 0), condition(Part::Node, "True", "Provisioned", 0)];
    let late = plan(&Observed { conditions: &running, ..observed }, at(0));
    assert!(!late.bootstrap_hangs && late.failure.is_none(), "it cannot hang after it has succeeded");
}

#[test]
fn a_drawn_failure_counts_at_once() {
    let annotations = BTreeMap::from([(FAILURE_RATE.to_owned(), "1".to_owned())]);
    let observed = Observed {
        has_bootstrap_data: true,
        infrastructure_provisioned: true,
        annotations: Some(&annotations),
        draw: Some(Draw { chance: 0.5, failure: 0.0, time: 0.0 }),
        ..Observed::default()
    };
    let plan = plan(&observed, at(0));
    assert_eq!((plan.running.as_slice(), plan.annotations.len()), ([Part::Vm].as_slice(), 2));
}

#[test]
fn jitter_stays_within_its_fraction_and_does_not_change() {
    let mut backend = backend();
    backend.vm = Some(InMemoryComponent {
        provisioning: Some(InMemoryProvisioning {
            startup_duration: "10s".into(),
            startup_jitter: Some("0.2".into()),
        }),
    });
    for uid in ["a", "b", "c", "d"] {
        let observed = Observed { uid, backend: Some(&backend), ..Observed::default() };
        let first = duration(&observed, Part::Vm);
        assert_eq!(first, duration(&observed, Part::Vm));
        assert!((10_000..=12_000).contains(&first.num_milliseconds()), "{first}");
    }
}

#[test]
fn a_bootstrap_that_waits_for_a_signal_acknowledges_it_once() {
    let started = [condition(Part::Vm, "True", "Provisioned", 0)];
    let joined = [started[0].clone(), condition(Part::Node, "True", "Provisioned", 1)];
    for (conditions, signal, reason, acknowledges) in [
        (&started[..], Some(false), "WaitingForSignal", false),
        (&started[..], Some(true), "Provisioned", true),
        (&joined[..], Some(true), "Provisioned", false),
        (&joined[..], Some(false), "Provisioned", false),
        (&started[..], None, "Provisioned", false),
    ] {
        let observed = Observed {
            conditions,
            has_bootstrap_data: true,
            infrastructure_provisioned: true,
            signal,
            ..Observed::default()
        };
        let plan = plan(&observed, at(5));
        assert_eq!((reasons(&plan)[1], plan.acknowledges_signal), (reason, acknowledges), "{signal:?}");
    }
}
