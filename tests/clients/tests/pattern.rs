//! Tests of `clients::pattern`.

use clients::pattern::{expectation, matches};

#[test]
fn placeholders() {
    let uid = "0d3a9f0e-4a5b-4c6d-8e7f-0123456789ab";
    let cases = [
        ("NAME  AGE\na  <age>", "NAME     AGE\na        2m30s\n", true),
        ("a  <age>", "a  old", false),
        ("uid: <uid>", &format!("uid: {uid}"), true),
        ("first\n...\nlast", "first\nlast", true),
        ("first\n...\nlast", "first\n1\n\n2\nlast\n", true),
        ("first\n...\nlast", "first\nlast\nmore", false),
        ("a ... z", "a b z", true),
        ("a.c", "abc", false),
        ("at <time>", "at 2026-01-02T03:04:05Z", true),
        ("at <time>", "at Sat, 21 Nov 2026 05:04:00 +0000", true),
        ("in <dir>/x", "in /tmp/s/x", true),
        ("m-<suffix>", "m-x7k2p", true),
        ("  indented", "    indented", false),
        ("", "", true),
        ("", "x", false),
    ];
    for (expected, printed, same) in cases {
        assert_eq!(matches(expected, printed, "/tmp/s").unwrap(), same, "{expected:?} {printed:?}");
    }
}

#[test]
fn a_new_expectation_keeps_the_lines_that_hold() {
    let printed = "NAME   AGE\nm-abcde   5s\nother  resourceVersion: \"12\" in /tmp/s\n";
    let new = expectation("NAME  AGE\nm-<suffix>  <age>\ngone", printed, "/tmp/s").unwrap();
    assert_eq!(new, "NAME  AGE\nm-<suffix>  <age>\nother  resourceVersion: \"<rv>\" in <dir>");
    assert!(matches(&new, printed, "/tmp/s").unwrap());
}
