//! Tests of `engine::selector`.

use std::collections::BTreeMap;

use engine::selector::matches;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};

#[test]
fn labels_are_matched_and_an_empty_selector_matches_nothing() {
    let labels = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
    for (selector, with, without) in [
        (json!({}), false, false),
        (json!({"matchLabels": {}}), false, false),
        (json!({"matchLabels": {"a": "1"}}), true, false),
        (json!({"matchLabels": {"a": "2"}}), false, false),
        (expression("In", json!(["1", "2"])), true, false),
        (expression("NotIn", json!(["1"])), false, true),
        (expression("Exists", json!(null)), true, false),
        (expression("DoesNotExist", json!(null)), false, true),
        (expression("Gt", json!(["0"])), false, false),
    ] {
        let parsed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
        assert_eq!((matches(&parsed, Some(&labels)), matches(&parsed, None)), (with, without), "{selector}");
    }
}
