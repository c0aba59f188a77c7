//! Tests of `takeover::providers::outcome`.

use serde_json::json;
use takeover::providers::outcome::{Outcome, differences, properties};

#[test]
fn what_differs_is_named() {
    let object = json!({"metadata": {"finalizers": ["a"]}, "spec": {"version": "v1"}, "status": {"phase": "Running",
        "replicas": 3, "conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]}});
    let found = properties(&object);
    assert_eq!(
        found,
        ["", " Ready=True (Ready)", " replicas=3", " phase=Running", " version=v1", " finalizer a"]
    );
    let outcome = |count| Outcome::from([("Machine".to_owned(), count)]);
    assert_eq!(differences(&outcome(1), &outcome(1)), Vec::<String>::new());
    assert_eq!(differences(&outcome(2), &Outcome::new()), ["Machine: 2 upstream, 0 here"]);
}
