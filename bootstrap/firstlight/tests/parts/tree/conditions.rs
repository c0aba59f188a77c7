//! Tests of `firstlight::tree::conditions`.

use firstlight::tree::conditions::causes;
use serde_json::json;

#[test]
fn causes_are_lines_and_the_cause_comes_before_its_consequence() {
    let cases: [(&str, &[&str]); 4] = [
        ("no quota left", &["no quota left"]),
        (
            "* RemoteConnectionProbe: not yet\n* InfrastructureReady: no quota left",
            &["InfrastructureReady: no quota left", "RemoteConnectionProbe: not yet"],
        ),
        (
            "* Machine a:\n  * InfrastructureReady: VM\n  * NodeHealthy: none\n* Machine b: gone",
            &["Machine a: InfrastructureReady: VM; NodeHealthy: none", "Machine b: gone"],
        ),
        ("", &["NotReady"]),
    ];
    for (message, expected) in cases {
        assert_eq!(causes(&json!({"reason": "NotReady", "message": message})), expected);
    }
}
