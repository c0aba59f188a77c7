//! Tests of `engine::conditions::summary`.

use engine::conditions::{Reasons, Summary, is_false, is_true, is_unknown, summarize};
use schemas::meta::Condition;

#[test]
fn merges_as_cluster_api_does() {
    let ready = Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };
    let make = |conditions: &[Condition]| {
        let summary = Summary {
            types: vec!["Deleting", "A", "B", "C"],
            negative: vec!["Deleting"],
            ignore_if_missing: vec!["C"],
            reasons: ready,
        };
        let merged = summarize("Ready", conditions, &summary, |_| None);
        (merged.status, merged.reason, merged.message)
    };
    let row = |status: &str, reason: &str, message: &str| (status.into(), reason.into(), message.into());
    let fine = is_false("Deleting", "NotDeleting", "");
    assert_eq!(make(&[fine.clone(), is_true("A", "Ok"), is_true("B", "Ok")]), row("True", "Ready", ""));
    assert_eq!(
        make(&[fine.clone(), is_true("A", "Ok"), is_false("C", "Bad", "")]),
        row("False", "NotReady", "* B: Condition not yet reported\n* C: Bad")
    );
    assert_eq!(
        make(&[fine, is_unknown("A", "X", "first\nsecond"), is_true("B", "Ok")]),
        row("Unknown", "ReadyUnknown", "* A:\n  * first\n  * second")
    );
}
