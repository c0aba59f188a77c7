//! Tests of `firstlight::tree::changes`.

use std::collections::BTreeMap;
use std::time::Duration;

use firstlight::tree::changes::{Changes, every};
use firstlight::tree::model::{Entry, State};

fn entry(name: &str, state: State, summary: &str, cause: &str) -> Entry {
    Entry {
        depth: 0,
        key: format!("Machine default/{name}"),
        label: format!("Machine {name}"),
        state,
        summary: summary.to_owned(),
        causes: cause.split_terminator("; ").map(str::to_owned).collect(),
        since: None,
        starts: None,
    }
}

#[test]
fn a_phase_is_one_line_with_its_time() {
    let mut changes = Changes::default();
    let at = Duration::from_millis;
    let provisioning = |cause: &str| [entry("a", State::Waiting, "Provisioning v1.35.0", cause)];
    assert_eq!(changes.phases(&provisioning("x"), at(100)), ["Machine default/a: Provisioning"]);
    // Another cause is no other phase.
    assert_eq!(changes.phases(&provisioning("y"), at(900)), Vec::<String>::new());
    let ready = [entry("a", State::Good, "Running v1.35.0", "")];
    assert_eq!(changes.phases(&ready, at(6200)), ["Machine default/a: Provisioning → ready, 6.1s"]);
    assert_eq!(changes.phases(&ready, at(96_200)), Vec::<String>::new());
    let deleting = [entry("a", State::Deleting, "Deleting", "z")];
    assert_eq!(changes.phases(&deleting, at(106_200)), ["Machine default/a: ready → deleting, 100s"]);
    assert_eq!(changes.phases(&[], at(106_300)), ["Machine default/a: gone"]);
}

#[test]
fn what_lasts_says_why_less_and_less_often() {
    let mut changes = Changes::default();
    let stuck = [entry("a", State::Waiting, "Provisioning", "InfrastructureReady: no quota\u{1b}[2J")];
    let said: Vec<u64> =
        (0..300).filter(|second| !changes.phases(&stuck, Duration::from_secs(*second)).is_empty()).collect();
    assert_eq!(said, [0, 30, 90, 270]);
    let line = changes.phases(&stuck, Duration::from_secs(900)).remove(0);
    assert_eq!(
        line,
        "Machine default/a: still Provisioning after 15m0s: no quota\\u001b[2J (InfrastructureReady)"
    );
}

#[test]
fn every_change_is_printed_once() {
    let mut before = BTreeMap::new();
    let first = [entry("a", State::Waiting, "", "b"), entry("b", State::Good, "", "")];
    assert_eq!(every(&mut before, &first), ["Machine default/a: waiting: b", "Machine default/b: ready"]);
    assert_eq!(every(&mut before, &first), Vec::<String>::new());
    let second = [entry("a", State::Good, "", "")];
    assert_eq!(every(&mut before, &second), ["Machine default/a: ready", "Machine default/b: gone"]);
}
