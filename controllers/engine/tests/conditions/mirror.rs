//! Tests of `engine::conditions::mirror`.

use engine::conditions::mirror::NO_REASON_REPORTED;
use engine::conditions::read;
use serde_json::{Value, json};

#[test]
fn a_condition_that_the_api_server_would_refuse_is_not_copied() {
    let ready = |more: Value| {
        let mut condition = json!({"type": "Ready", "status": "True"});
        condition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(&json!({"status": {"conditions": [condition]}}), "Ready")
    };
    assert_eq!(ready(json!({})).unwrap().unwrap().reason, NO_REASON_REPORTED);
    for good in [
        json!({"reason": "A:b,c_1"}),
        json!({"reason": 5}),
        json!({"lastTransitionTime": "2026-11-21T00:00:00Z"}),
    ] {
        assert!(ready(good.clone()).is_ok(), "{good}");
    }
    // Columns: what is wrong, a part of the message.
    for (bad, part) in [
        (json!({"status": "maybe"}), "the status \"maybe\""),
        (json!({"status": true}), "the status \"\""),
        (json!({"reason": "not ready!"}), "the reason \"not ready!\""),
        (json!({"reason": "1st"}), "the reason \"1st\""),
        (json!({"reason": "R".repeat(1025)}), "the reason"),
        (json!({"lastTransitionTime": "yesterday"}), "the lastTransitionTime \"yesterday\""),
    ] {
        let error = ready(bad.clone()).unwrap_err();
        assert!(error.contains(part), "{bad}: {error}");
    }
    assert_eq!(
        read(&json!({"status": {"conditions": {}}}), "Ready").unwrap_err(),
        "status.conditions is not a list"
    );
}
