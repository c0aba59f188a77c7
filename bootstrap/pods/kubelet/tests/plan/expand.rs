//! Tests of `kubelet::plan::expand`.

use std::collections::BTreeMap;

use kubelet::plan::expand::expand;

#[test]
fn variables_in_text() {
    let variables = BTreeMap::from([("A".to_owned(), "1".to_owned()), ("B".to_owned(), "$(A)".to_owned())]);
    for (text, expected) in [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(B)", "$(A)"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("", ""),
    ] {
        assert_eq!(expand(text, &variables), expected, "{text}");
    }
}
