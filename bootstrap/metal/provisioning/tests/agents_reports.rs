//! Tests of `agents::reports`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use agent_protocol::{Progress, Report, State};
use chrono::{DateTime, Duration, Utc};
use machinery::clock::parse_rfc3339;
use metal_provisioning::agents::refusal::Refusal;
use metal_provisioning::agents::reports::{LOG_LINE, Reported};
use metal_provisioning::limits;
use serde_json::{Value, json};

fn at(seconds: i64) -> DateTime<Utc> {
    parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::seconds(seconds)
}

fn report(id: &str, state: State, done: u64) -> Report {
    let progress = Progress { id: id.into(), state, message: String::new(), done, total: 100 };
    Report { instruction: Some(progress), ..Report::default() }
}

#[test]
fn only_what_is_new_is_written_and_not_too_often() {
    let mut reported = Reported::default();
    let half = |seconds, half: i64| at(seconds) + Duration::milliseconds(500 * half);
    let line = || Report { log: vec!["a\x1b[31m line".into()], ..Report::default() };
    let steps = [
        ("the first", half(0, 0), Report::default(), true),
        ("nothing new", half(5, 0), Report::default(), false),
        ("a heartbeat", half(10, 0), Report::default(), true),
        ("an instruction begins", half(10, 1), report("1", State::Running, 0), true),
        ("it goes on, too soon", half(11, 0), report("1", State::Running, 10), false),
        ("it goes on", half(11, 1), report("1", State::Running, 20), true),
        ("the same again", half(13, 0), report("1", State::Running, 20), false),
        ("a line", half(14, 0), line(), true),
        ("it ends", half(14, 1), report("1", State::Done, 100), true),
        ("another begins", half(15, 0), report("2", State::Failed, 0), true),
    ];
    for (name, now, report, expected) in steps {
        let patch = reported.take(report, true, now).unwrap();
        assert_eq!(patch.is_some(), expected, "{name}");
        let Some(patch) = patch else { continue };
        let instruction = &patch["status"]["instruction"];
        match name {
            "it ends" => {
                assert_eq!(instruction["startTime"], "2026-11-22T09:00:10Z");
                assert_eq!(instruction["endTime"], "2026-11-22T09:00:14Z");
            }
            "another begins" => assert_eq!(instruction["startTime"], "2026-11-22T09:00:15Z"),
            "a line" => assert_eq!(patch["status"]["log"], json!(["a[31m line"])),
            "it goes on" => {
                assert_eq!((&instruction["bytesDone"], &instruction["endTime"]), (&json!(20), &Value::Null))
            }
            _ => {}
        }
    }
    let wrong = Report { inventory: Some(json!({ "cpu": 7 })), ..Report::default() };
    assert!(matches!(reported.take(wrong, true, at(20)), Err(Refusal::Malformed(_))));
}

#[test]
fn the_log_keeps_its_newest_lines() {
    let mut reported = Reported::default();
    let log = (0..150).map(|number| format!("line {number}")).collect();
    let patch = reported.take(Report { log, ..Report::default() }, true, at(0)).unwrap().unwrap();
    let log = patch["status"]["log"].as_array().unwrap();
    assert_eq!((log.len(), &log[0], &log[99]), (100, &json!("line 50"), &json!("line 149")));
}

#[test]
fn what_a_machine_reports_has_its_limits() {
    let line = |length: usize| vec!["x".repeat(length)];
    for (is_host, room) in [(true, limits::LOG), (false, limits::UNKNOWN_LOG)] {
        let mut reported = Reported::default();
        let count = room / LOG_LINE + 2;
        let log = (0..count).flat_map(|_| line(LOG_LINE)).collect();
        let patch = reported.take(Report { log, ..Report::default() }, is_host, at(0)).unwrap().unwrap();
        assert_eq!(patch["status"]["log"].as_array().unwrap().len(), room / LOG_LINE, "{is_host}");
    }
    for (length, expected) in [(limits::WORD, true), (limits::WORD + 1, false)] {
        let taken = Reported::default().take(report(&"i".repeat(length), State::Done, 1), true, at(0));
        assert_eq!(taken.is_ok(), expected, "{length}");
    }
    let mut progress = report("1", State::Running, 1);
    progress.instruction.as_mut().unwrap().message =
        "\u{1b}".to_owned() + &"m".repeat(limits::PROGRESS_MESSAGE + 9);
    let patch = Reported::default().take(progress, true, at(0)).unwrap().unwrap();
    assert_eq!(patch["status"]["instruction"]["message"], "m".repeat(limits::PROGRESS_MESSAGE));
}

#[test]
fn who_reports_without_end_writes_no_more_than_others() {
    let mut reported = Reported::default();
    let written = (0..1000).filter(|number| {
        let now = at(0) + Duration::milliseconds(*number);
        reported.take(report(&number.to_string(), State::Done, 1), false, now).unwrap().is_some()
    });
    assert_eq!(written.count(), limits::URGENT_WRITES as usize);
    assert!(reported.is_held_back());
    assert!(reported.take(report("last", State::Done, 1), false, at(3)).unwrap().is_some(), "it is not lost");
}

#[test]
fn an_inventory_has_no_characters_that_act_on_a_terminal() {
    let inventory = json!({
        "systemVendor": {"productName": "PC\u{1b}[3A\r52-54-00-ee\u{9b}B\u{202e}\u{200b}\n"},
        "storage": [{"name": "/dev/\u{7f}sda"}],
    });
    let report = Report { inventory: Some(inventory), ..Report::default() };
    let patch = Reported::default().take(report, false, at(0)).unwrap().unwrap();
    let hardware = &patch["status"]["hardware"];
    assert_eq!(hardware["systemVendor"]["productName"], "PC[3A52-54-00-eeB");
    assert_eq!(hardware["storage"][0]["name"], "/dev/sda");
}
