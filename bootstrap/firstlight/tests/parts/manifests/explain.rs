//! Tests of `firstlight::manifests::explain`.

use firstlight::manifests::explain::in_words_of_yaml;
use serde_json::json;

#[test]
fn wrong_types_are_told_in_words_of_yaml() {
    let object = json!({"spec": {"paused": "yes", "replicas": [1], "version": 1.35, "other": {}}});
    let go = "expected string, got &value.valueUnstructured{Value:1.35}";
    for (field, message, expected) in [
        ("spec.paused", "expected boolean, got &{yes}", "expected true or false, got the string \"yes\""),
        (
            "spec.replicas",
            "expected numeric (int or float), got []interface {}",
            "expected a number, got a list",
        ),
        ("spec.version", go, "expected a string, got the number 1.35"),
        ("spec.other", "duplicate entries for key x", "duplicate entries for key x"),
        ("spec.gone", go, go),
    ] {
        assert_eq!(in_words_of_yaml(&object, field, message), expected);
    }
}
