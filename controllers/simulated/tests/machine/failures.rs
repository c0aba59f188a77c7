//! Tests of `simulated::machine::failures`.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use simulated::machine::failures::{Asked, Draw, Failure, drawn, is_draw_due, symptoms};
use simulated::names::{FAILURE_DRAWN, FAILURE_RATE};
use simulated::workload::part::Part;
use simulated::workload::symptoms::{NodeHealth, Symptoms};

fn asked(list: &[(&str, &str)]) -> Asked {
    let annotation = |name: &str| format!("simulated.firstlight.dev/{name}");
    Asked::read(&list.iter().map(|(name, value)| (annotation(name), (*value).to_owned())).collect())
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

/// The VM starts at 0, the Node at 10, and etcd at 20.
fn since(part: Part) -> Option<DateTime<Utc>> {
    match part {
        Part::Vm => Some(at(0)),
        Part::Node => Some(at(10)),
        Part::Etcd => Some(at(20)),
        Part::ApiServer => None,
    }
}

#[test]
fn a_failure_shows_after_its_time() {
    use Failure::*;
    let sick = [("node-not-ready", "1m"), ("kubelet-stopped", "2m")];
    type Row<'a> = (&'a [(&'a str, &'a str)], i64, &'a [Failure], Option<i64>);
    let rows: [Row<'_>; 8] = [
        (&[], 100, &[], None),
        (&[("node-not-ready", "")], 10, &[NodeNotReady], None),
        (&[("node-not-ready", "1m")], 30, &[], Some(40)),
        (&sick, 30, &[], Some(40)),
        (&sick, 70, &[NodeNotReady], Some(60)),
        (&sick, 500, &[NodeNotReady, KubeletStopped], None),
        (&[("bootstrap-hangs", "5m"), ("volume-attached", "")], 10, &[BootstrapHangs, VolumeAttached], None),
        (&[("etcd-member-lost", "30s"), ("etcd-member-unhealthy", "")], 45, &[EtcdMemberUnhealthy], Some(5)),
    ];
    for (annotations, now, showing, next) in rows {
        let found = asked(annotations).at(at(now), since);
        assert_eq!(found, (showing.to_vec(), next.map(TimeDelta::seconds)), "{annotations:?} at {now}");
    }
    let (showing, next) = asked(&[("node-not-ready", "")]).at(at(100), |_| None);
    assert_eq!((showing.len(), next), (0, None), "what does not run does not fail");
}

#[test]
fn the_condition_names_what_shows_and_what_is_no_duration() {
    let reason = |asked: &Asked, showing: &[Failure]| {
        asked.condition(showing).map(|condition| (condition.reason, condition.message))
    };
    assert_eq!(asked(&[("node-not-ready", "1m")]).condition(&[]), None);
    let expected = ("AskedForByAnnotation".to_owned(), "By annotation: node-not-ready".to_owned());
    assert_eq!(reason(&asked(&[("node-not-ready", "")]), &[Failure::NodeNotReady]), Some(expected));
    let wrong = asked(&[("kubelet-stopped", "soon")]);
    assert!(!wrong.has(Failure::KubeletStopped));
    let (reason, message) = reason(&wrong, &[]).unwrap();
    assert_eq!(reason, "InvalidAnnotation");
    assert!(message.contains("simulated.firstlight.dev/kubelet-stopped: \"soon\""), "{message}");
}

#[test]
fn symptoms_of_several_failures() {
    let of = |showing: &[Failure]| symptoms(showing);
    assert_eq!(of(&[]), Symptoms::default());
    assert_eq!(of(&[Failure::NodeNotReady]).node, NodeHealth::NotReady);
    assert_eq!(of(&[Failure::NodeNotReady, Failure::KubeletStopped]).node, NodeHealth::Unreachable);
    let etcd = of(&[Failure::EtcdMemberLost, Failure::EtcdMemberUnhealthy]);
    assert!(etcd.member_is_lost && etcd.member_is_unhealthy && !etcd.volume_is_attached);
    assert!(of(&[Failure::VolumeAttached]).volume_is_attached);
}

#[test]
fn a_draw_is_made_once_and_chooses_what_the_machine_has() {
    let worker = [Part::Vm, Part::Node];
    let draw = |chance: f64, failure: f64| Draw { chance, failure, time: 0.5 };
    let names = |rate: &str, draw: Draw, parts: &[Part]| -> Vec<String> {
        drawn(rate, draw, parts).into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    };
    let none = [format!("{FAILURE_DRAWN}=none")];
    for (rate, chance) in [("0.2", 0.3), ("0", 0.0), ("often", 0.0)] {
        assert_eq!(names(rate, draw(chance, 0.0), &worker), none, "{rate}");
    }
    let prefix = "simulated.firstlight.dev";
    let expected = |name: &str| vec![format!("{prefix}/{name}=300s"), format!("{FAILURE_DRAWN}={name}")];
    assert_eq!(names("0.2", draw(0.1, 0.0), &worker), expected("bootstrap-hangs"));
    assert_eq!(names("1", draw(0.9, 0.999), &worker), expected("volume-attached"));
    let all = [Part::Vm, Part::Node, Part::Etcd, Part::ApiServer];
    assert_eq!(names("1", draw(0.9, 0.7), &all), expected("etcd-member-lost"));
    let has = |keys: &[&str]| -> BTreeMap<String, String> {
        keys.iter().map(|key| ((*key).to_owned(), String::new())).collect()
    };
    assert!(is_draw_due(Some(&has(&[FAILURE_RATE]))));
    assert!(!is_draw_due(Some(&has(&[FAILURE_RATE, FAILURE_DRAWN]))) && !is_draw_due(None));
}
