//! Tests of regular expressions.

mod matches;
mod syntax;

use std::sync::Arc;

use machinery::limits::MAX_SHARED_PATTERNS;
use machinery::pattern::shared;

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
