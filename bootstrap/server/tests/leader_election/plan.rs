//! Tests of `server::leader_election::plan`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use machinery::clock::parse_rfc3339;
use server::leader_election::plan::{Candidate, Step, micro_time, plan, released};

const BEFORE: &str = "2026-11-21T00:00:00Z";
const NOW: &str = "2026-11-21T00:10:00Z";

fn at(text: &str) -> DateTime<Utc> {
    parse_rfc3339(text).unwrap()
}

fn candidate() -> Candidate {
    Candidate { identity: "me".into(), lease_seconds: 15 }
}

fn lease(holder: &str, seconds: i32, acquired: &str, renewed: &str, transitions: i32) -> LeaseSpec {
    LeaseSpec {
        holder_identity: (!holder.is_empty()).then(|| holder.to_owned()),
        lease_duration_seconds: Some(seconds),
        acquire_time: Some(micro_time(at(acquired))),
        renew_time: Some(micro_time(at(renewed))),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}

#[test]
fn a_lease_is_taken_when_nobody_holds_it_and_renewed_while_it_is_ours() {
    let mine = |acquired: &str, transitions| Step::Write(lease("me", 15, acquired, NOW, transitions));
    let theirs = || Step::Follow { holder: "other".into() };
    let ms = Duration::from_millis;
    // Their clock is an hour ahead, or a day behind: their times do not matter.
    let (ahead, behind) = ("2026-11-21T01:10:00Z", "2026-11-20T00:10:00Z");
    let table: [(&str, Option<LeaseSpec>, Duration, Step); 11] = [
        ("there is none", None, ms(0), mine(NOW, 0)),
        ("it is empty", Some(LeaseSpec::default()), ms(0), mine(NOW, 1)),
        ("released", Some(lease("", 1, BEFORE, BEFORE, 4)), ms(0), mine(NOW, 5)),
        ("ours", Some(lease("me", 15, BEFORE, BEFORE, 4)), ms(2000), mine(BEFORE, 4)),
        ("ours and over", Some(lease("me", 15, BEFORE, BEFORE, 4)), ms(60_000), mine(BEFORE, 4)),
        ("theirs, first seen", Some(lease("other", 15, behind, behind, 4)), ms(0), theirs()),
        ("theirs, almost over", Some(lease("other", 15, behind, behind, 4)), ms(14_999), theirs()),
        ("theirs, over", Some(lease("other", 15, ahead, ahead, 4)), ms(15_000), mine(NOW, 5)),
        ("theirs, longer than ours", Some(lease("other", 60, behind, behind, 4)), ms(59_999), theirs()),
        ("without an end", Some(lease("other", -1, behind, behind, 4)), ms(0), mine(NOW, 5)),
        ("many transitions", Some(lease("", 1, BEFORE, BEFORE, i32::MAX)), ms(0), mine(NOW, i32::MAX)),
    ];
    for (case, found, unchanged, expected) in table {
        assert_eq!(plan(&candidate(), found.as_ref(), unchanged, at(NOW)), expected, "{case}");
    }
}

#[test]
fn fields_that_others_set_stay() {
    let found = LeaseSpec { strategy: Some("OldestEmulationVersion".into()), ..LeaseSpec::default() };
    let Step::Write(written) = plan(&candidate(), Some(&found), Duration::ZERO, at(NOW)) else { panic!() };
    assert_eq!(written.strategy, found.strategy);
}

#[test]
fn only_its_holder_releases_a_lease() {
    let free = released(&candidate(), &lease("me", 15, BEFORE, BEFORE, 4), at(NOW));
    assert_eq!(free, Some(lease("", 1, NOW, NOW, 4)));
    assert_eq!(released(&candidate(), &lease("other", 15, BEFORE, BEFORE, 4), at(NOW)), None);
    assert_eq!(released(&candidate(), &LeaseSpec::default(), at(NOW)), None);
}
