//! Tests of `firstlight::tree::render`.

use chrono::DateTime;
use firstlight::tree::model::{Entry, State};
use firstlight::tree::render::{fitted, tree};
use unicode_width::UnicodeWidthStr;

fn entry(depth: usize, name: &str, state: State, waiting_for: &str) -> Entry {
    Entry {
        depth,
        key: format!("Kind default/{name}"),
        label: format!("Kind {name}"),
        state,
        summary: String::new(),
        causes: waiting_for.split_terminator("; ").map(str::to_owned).collect(),
        since: Some(DateTime::UNIX_EPOCH),
        starts: None,
    }
}

#[test]
fn branches_join() {
    let entries = [
        entry(0, "a", State::Waiting, "b"),
        entry(1, "b", State::Good, ""),
        entry(2, "c", State::Good, ""),
        entry(1, "d", State::Deleting, "x"),
        entry(2, "e", State::Good, ""),
    ];
    let now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(125);
    let expected =
        ["… Kind a  2m5s  b", "├─ ✓ Kind b", "│  └─ ✓ Kind c", "└─ ✗ Kind d  2m5s  x", "   └─ ✓ Kind e"];
    assert_eq!(tree(&entries, now, 200, false), expected);
}

#[test]
fn the_whole_cause_is_shown_at_every_width() {
    let causes = "InfrastructureReady: no quota left in this zone; NodeHealthy: no node";
    let mut machine = entry(1, "first-79z9t", State::Waiting, causes);
    machine.summary = "Provisioning v1.35.0".to_owned();
    let cluster = entry(0, "first", State::Good, "");
    let other = entry(1, "other", State::Good, "");
    let entries = [cluster, machine, other];
    let now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(12);
    let head = "├─ … Kind first-79z9t  Provisioning v1.35.0  12s";
    let cases: [(usize, &[&str]); 4] = [
        (
            160,
            &[
                "├─ … Kind first-79z9t  Provisioning v1.35.0  12s  no quota left in this zone (InfrastructureReady); no node (NodeHealthy)",
            ],
        ),
        (
            110,
            &[
                "├─ … Kind first-79z9t  Provisioning v1.35.0  12s  no quota left in this zone (InfrastructureReady) (+1)",
            ],
        ),
        (80, &[head, "│       no quota left in this zone (InfrastructureReady); no node (NodeHealthy)"]),
        (
            40,
            &[
                "├─ … Kind first-79z9t  Provisioning v1.…",
                "│       no quota left in this zone",
                "│       (InfrastructureReady) (+1)",
            ],
        ),
    ];
    for (width, expected) in cases {
        let lines = tree(&entries, now, width, false);
        assert_eq!(lines[1..lines.len() - 1], *expected, "{width}");
    }
    // One line for each entry where there is not enough room.
    let lines = fitted(&entries, now, (60, 3), false);
    assert_eq!(lines[1], "├─ … first-79z9t  12s  no quota left in this zone (Infrastr…");
    assert_eq!(lines.len(), 3);
}

#[test]
fn nothing_that_others_wrote_acts_on_the_terminal() {
    let forged = "\u{1b}[2J\u{9b}A\r\n✓ Kind forged\u{202e}\u{200b}".repeat(9);
    let mut hostile = entry(0, "a", State::Waiting, &forged);
    (hostile.summary, hostile.label) = (forged.clone(), format!("Kind {forged}"));
    for width in [20, 80, 500] {
        for line in tree(std::slice::from_ref(&hostile), DateTime::UNIX_EPOCH, width, false) {
            assert!(!line.contains(terminal::is_unsafe), "{line:?}");
            assert!(line.width() <= width && !line.starts_with('✓'), "{width}: {line}");
        }
    }
}

#[test]
fn no_number_of_rows_is_exceeded() {
    let waiting = entry(1, "b", State::Waiting, &"long cause ".repeat(30));
    let entries: Vec<Entry> = (0..20)
        .flat_map(|_| [entry(0, "a", State::Waiting, "x"), waiting.clone(), entry(1, "c", State::Good, "")])
        .collect();
    for rows in [1, 5, 23, 60, 100] {
        assert!(fitted(&entries, DateTime::UNIX_EPOCH, (80, rows), false).len() <= rows, "{rows}");
    }
}
