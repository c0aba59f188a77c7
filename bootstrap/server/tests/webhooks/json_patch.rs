//! The patch of an admission.

use serde_json::{Value, json};
use server::webhooks::reviews::json_patch::difference;

#[test]
fn a_patch_turns_one_object_into_the_other() {
    let table = [
        (json!({"a": 1}), json!({"a": 1}), json!([])),
        (json!({"a": 1}), json!({"a": 2}), json!([{"op": "replace", "path": "/a", "value": 2}])),
        (
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": 1, "d": {}}}),
            json!([{"op": "remove", "path": "/a/c"}, {"op": "add", "path": "/a/d", "value": {}}]),
        ),
        (
            json!({"m": {"a/b": "x", "c~d": "x"}}),
            json!({"m": {"a/b": "y", "c~d": [1]}}),
            json!([
                {"op": "replace", "path": "/m/a~1b", "value": "y"},
                {"op": "replace", "path": "/m/c~0d", "value": [1]},
            ]),
        ),
        (json!({"l": [1, 2]}), json!({"l": [1]}), json!([{"op": "replace", "path": "/l", "value": [1]}])),
        (json!({"a": null}), json!({"a": {}}), json!([{"op": "replace", "path": "/a", "value": {}}])),
    ];
    for (from, to, expected) in table {
        assert_eq!(Value::Array(difference(&from, &to)), expected, "{from} {to}");
    }
}
