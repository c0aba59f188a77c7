//! Tests of `firstlight::tree::fold`.

use firstlight::tree::fold::{fold, more};
use firstlight::tree::model::{Entry, State};

fn tree(text: &str) -> Vec<Entry> {
    let entry = |line: &str| {
        let label = line.trim_start();
        let state = if label.starts_with('-') { State::Waiting } else { State::Good };
        let depth = (line.len() - label.len()) / 2;
        Entry { depth, label: label.to_owned(), state, ..more(0, 0, "") }
    };
    text.lines().map(entry).collect()
}

fn shown(entries: &[Entry], rows: usize) -> String {
    let line = |entry: &Entry| format!("{}{}", "  ".repeat(entry.depth), entry.label);
    fold(entries, rows).iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_ready_is_counted_first() {
    let text = "-a\n  -control\n    1\n    2\n    -3\n  workers\n    4\n    5\nb\n  control\n    6\nc\n  control\n    7";
    let entries = tree(text);
    assert_eq!(shown(&entries, 14), text);
    let machines = "-a\n  -control\n    2 more, all ready\n    -3\n  workers\n    2 more, all ready\nb\n  control\n    6\nc\n  control\n    7";
    assert_eq!(shown(&entries, 13), machines);
    assert_eq!(shown(&entries, 12), machines);
    let objects = "-a\n  -control\n    2 more, all ready\n    -3\n  3 more, all ready\nb\n  2 more, all ready\nc\n  2 more, all ready";
    assert_eq!(shown(&entries, 10), objects);
    assert_eq!(
        shown(&entries, 8),
        "-a\n  -control\n    2 more, all ready\n    -3\n  3 more, all ready\n6 more, all ready"
    );
    assert_eq!(shown(&entries, 3), "-a\n  -control\n12 more, 1 not ready");
}

#[test]
fn no_number_of_rows_is_exceeded() {
    let entries = tree(&"-a\n  b\n  c\n  -d\n".repeat(20));
    for rows in 1..100 {
        assert!(fold(&entries, rows).len() <= rows, "{rows}");
    }
}
