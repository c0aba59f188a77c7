//! Tests of `agents::waiting`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use chrono::{DateTime, Duration, Utc};
use machinery::clock::parse_rfc3339;
use metal_provisioning::agents::waiting::{Alerts, Waiting};
use metal_provisioning::limits;

fn at(seconds: i64) -> DateTime<Utc> {
    parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::seconds(seconds)
}

#[test]
fn who_waits_first_keeps_the_place_while_it_asks() {
    let mut waiting = Waiting::default();
    waiting.note("a", "first", at(0));
    waiting.note("a", "second", at(1));
    waiting.note("a", "first", at(50));
    waiting.note("a", "second", at(70));
    assert!(waiting.is_waiting("a", "first") && !waiting.is_waiting("a", "second"));
    waiting.note("a", "second", at(110));
    assert!(waiting.is_waiting("a", "second") && waiting.is_anybody("a") && !waiting.is_anybody("b"));
    waiting.forget("a");
    assert!(!waiting.is_anybody("a"));
}

#[test]
fn the_same_is_told_once_a_minute_and_not_of_everybody() {
    let mut alerts = Alerts::default();
    for (seconds, reason, expected) in
        [(0, "x", true), (1, "x", false), (1, "y", true), (59, "x", false), (60, "x", true)]
    {
        assert_eq!(alerts.note("a", reason, at(seconds)).is_ok(), expected, "{seconds} {reason}");
    }
    let mut note = |name: usize| alerts.note(&name.to_string(), "x", at(61));
    let told = (0..limits::ALERTS + 10).filter(|name| note(*name).is_ok());
    assert!((limits::ALERTS - 2..=limits::ALERTS).contains(&told.count()));
    assert_eq!(note(limits::ALERTS + 10), Err("netboot_alerts"));
    assert_eq!(alerts.note("later", "x", at(200)), Ok(()));
}
