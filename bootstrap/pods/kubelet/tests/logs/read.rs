//! Tests of `kubelet::logs::read`.

use kubelet::logs::{Options, text};
use machinery::clock::parse_rfc3339;

const FILE: &[u8] =
    b"2026-01-01T00:00:01.000000000Z stdout F one\n2026-01-01T00:00:02.000000000Z stderr P tw\n\
    2026-01-01T00:00:02.000000000Z stderr F o\n2026-01-01T00:00:03.000000000Z stdout F \n";

#[test]
fn logs_as_clients_want_them() {
    let since = parse_rfc3339("2026-01-01T00:00:02Z").unwrap();
    for (options, expected) in [
        (Options::default(), "one\ntwo\n\n"),
        (Options { tail: Some(2), ..Options::default() }, "two\n\n"),
        (Options { tail: Some(0), ..Options::default() }, ""),
        (Options { since: Some(since), ..Options::default() }, "two\n\n"),
        (Options { limit: Some(5), ..Options::default() }, "one\nt"),
        (
            Options { timestamps: true, tail: Some(2), ..Options::default() },
            "2026-01-01T00:00:02.000000000Z two\n2026-01-01T00:00:03.000000000Z \n",
        ),
    ] {
        let found = text(FILE.split_inclusive(|byte| *byte == b'\n'), &options);
        assert_eq!(String::from_utf8(found).unwrap(), expected, "{options:?}");
    }
}
