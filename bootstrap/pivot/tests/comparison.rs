//! Tests of `pivot::comparison`.

use pivot::comparison::Comparison;
use serde_json::json;

#[test]
fn what_was_meant_must_be_there_and_more_may_be() {
    let cases = [
        (json!({"a": 1}), json!({"a": 1}), None, vec![]),
        (json!({"a": 1}), json!({"a": 2}), Some("a"), vec![]),
        (json!({"a": {"b": 1}}), json!({"a": {}}), Some("a.b"), vec![]),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}, "d": 3}), None, vec!["a.c", "d"]),
        (json!({"a": [1, 2]}), json!({"a": [1, 3, 2]}), None, vec!["a[1]"]),
        (json!({"a": [1, 2]}), json!({"a": [1, 2, 3]}), None, vec!["a[2]"]),
        (json!({"a": [1, 2]}), json!({"a": [2, 1]}), Some("a[0]"), vec![]),
        (json!({"a": [1, 2]}), json!({"a": [1]}), Some("a[1]"), vec![]),
        (json!({"a": [{"b": 1}]}), json!({"a": [{"b": 1, "c": 2}]}), None, vec!["a[0].c"]),
        (json!({"data": {"a": ""}}), json!({"data": {"a": "", "b": ""}}), Some("data.b"), vec![]),
        (json!({}), json!({"data": {"b": ""}}), Some("data"), vec![]),
        (json!({}), json!([]), Some("everything"), vec![]),
    ];
    for (wanted, there, difference, added) in cases {
        let expected = Comparison {
            difference: difference.map(str::to_owned),
            added: added.into_iter().map(str::to_owned).collect(),
        };
        assert_eq!(Comparison::of(&wanted, &there), expected, "{wanted} and {there}");
    }
}
