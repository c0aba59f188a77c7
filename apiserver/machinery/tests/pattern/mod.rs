//! Tests of regular expressions.

mod size;
mod syntax;

use std::sync::Arc;

use machinery::limits::MAX_SHARED_PATTERNS;
use machinery::pattern::{compile, shared};

#[test]
fn patterns_are_shared_up_to_a_limit() {
    let first = shared("^shared$").unwrap();
    assert!(Arc::ptr_eq(&first, &shared("^shared$").unwrap()));
    for number in 0..=MAX_SHARED_PATTERNS {
        shared(&format!("^{number}$")).unwrap();
    }
    assert!(!Arc::ptr_eq(&first, &shared("^shared$").unwrap()), "it was forgotten to make room");
    assert!(shared("(").is_err());
    assert!(first.is_match("shared"));
}

#[test]
fn patterns_of_go() {
    for (pattern, text, expected) in [
        (r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "NotAvailable", true),
        (r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "Not-Available", false),
        (r"^[[:alpha:]_]+[0-9]$", "a_1", true),
        (r"^[[:alpha:]_]+[0-9]$", "[1", false),
        (r"^[a[]b$", "[b", true),
        (r"^[]a]+$", "]a", true),
        (r"^[^]a]+$", "b]", false),
        (r"^[\d:]+x[\w]$", "1:xy", true),
        (r"^\d$", "٣", false),
    ] {
        assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} on {text}");
    }
}
