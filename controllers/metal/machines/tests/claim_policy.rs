//! Tests of `claim::policy`.

use std::collections::BTreeMap;

use metal_machines::claim::policy::allows;
use serde_json::{Value, json};

#[test]
fn a_policy_allows_namespaces_that_meet_all_constraints() {
    let labels = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
    let allowed = |spec: Value| {
        let policy = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        allows(&policy, "tenant-1", Some(&labels))
    };
    let namespaces = |constraints: Value| allowed(json!({"hostClaimNamespaces": constraints}));
    let cases = [
        (json!({}), true),
        (json!({"names": ["other", "tenant-1"]}), true),
        (json!({"names": ["other"]}), false),
        (json!({"names": []}), false),
        (json!({"nameMatches": "^tenant-"}), true),
        (json!({"nameMatches": "nant"}), true),
        (json!({"nameMatches": ""}), true),
        (json!({"nameMatches": "^tenant$"}), false),
        (json!({"nameMatches": "("}), false),
        (json!({"hasLabels": [{"name": "team"}]}), true),
        (json!({"hasLabels": [{"name": "team", "value": ""}]}), true),
        (json!({"hasLabels": [{"name": "team", "value": "red"}]}), true),
        (json!({"hasLabels": [{"name": "team", "value": "blue"}]}), false),
        (json!({"hasLabels": [{"name": "team"}, {"name": "site"}]}), false),
        (json!({"names": ["tenant-1"], "nameMatches": "other"}), false),
    ];
    for (constraints, expected) in cases {
        assert_eq!(namespaces(constraints.clone()), expected, "{constraints}");
    }
    assert!(!allowed(json!({})), "without constraints nobody is allowed");
    let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"hostClaimNamespaces": {}}});
    assert!(!allows(&serde_json::from_value(deleting).unwrap(), "tenant-1", None));
}
