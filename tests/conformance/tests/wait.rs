//! Tests of `conformance::wait`.

use conformance::wait::met;
use serde_json::json;

#[test]
fn conditions() {
    let body = json!({"status": {"phase": "Active"}});
    let cases = [
        ("", 200, true),
        ("", 404, false),
        ("code=404", 404, true),
        ("status.phase=Active", 200, true),
        ("status.phase=Other", 200, false),
        ("status.phase!=Other, status.phase", 200, true),
        ("!status.phase", 200, false),
        ("!status.other", 200, true),
        ("!status.other", 404, false),
    ];
    for (until, code, expected) in cases {
        assert_eq!(met(until, code, &body).is_ok(), expected, "{until} {code}");
    }
}
