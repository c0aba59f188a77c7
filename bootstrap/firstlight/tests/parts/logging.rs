//! Tests of `firstlight::logging`.

use firstlight::logging::shown;

#[test]
fn an_event_is_one_line() {
    let forged = "WARN answer\r\n2026-01-01 INFO all is well\u{1b}[2J\u{9b}A\u{202e}\n".as_bytes();
    let expected = "WARN answer\\r\\n2026-01-01 INFO all is well\\u001b[2J\\u009bA\\u202e\n";
    assert_eq!(shown(forged, false), expected);
    assert_eq!(shown(b"\x1b[33mWARN\x1b[0m a\nb\n", true), "\u{1b}[33mWARN\u{1b}[0m a\\nb\n");
    assert_eq!(shown(b"half", false), "half");
}
