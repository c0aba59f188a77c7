//! Tests of `conformance::substitute`.

use conformance::substitute::{Values, text};

#[test]
fn placeholders_are_replaced() {
    let values = Values::from([("ns".to_owned(), "n1".to_owned()), ("uid".to_owned(), "u".to_owned())]);
    let cases = [
        ("/namespaces/{ns}/x", "/namespaces/n1/x"),
        ("{name:uid}-{other}", "u-{other}"),
        ("{repeat|ab|3}", "ababab"),
        ("{}", "{}"),
    ];
    for (template, expected) in cases {
        assert_eq!(text(template, &values), expected, "{template}");
    }
}
