//! Tests of durations, which are read and written as Go does.

use machinery::duration::{of_seconds, parse};

#[test]
fn seconds_in_go_s_form() {
    let rows = [(0, "0s"), (59, "59s"), (600, "10m0s"), (3661, "1h1m1s"), (7200, "2h0m0s"), (-90, "-1m30s")];
    for (seconds, expected) in rows {
        assert_eq!(of_seconds(seconds), expected);
    }
}

#[test]
fn as_go_reads_them() {
    let cases = [
        ("90s", Some(90_000)),
        ("1h30m", Some(5_400_000)),
        ("500ms", Some(500)),
        ("1.5s", Some(1_500)),
        ("0", Some(0)),
        ("", None),
        ("5", None),
        ("m", None),
        ("1d", None),
        ("-1s", None),
        ("1..5s", None),
        ("99999999999999999999h", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).map(|duration| duration.as_millis()), expected, "{text}");
    }
}
