//! JSON text as Go encodes it.

use kinds::types::go_text;
use serde_json::json;

#[test]
fn fields_stand_in_the_order_of_their_declaration() {
    let pods = json!({"selector": {"matchLabels": {"b": "1", "a": "<"}}, "metricName": "p", "other": 1});
    let expected =
        r#"{"metricName":"p","targetAverageValue":"0","selector":{"matchLabels":{"a":"\u003c","b":"1"}}}"#;
    assert_eq!(go_text("autoscaling.v1.PodsMetricSource", &pods), expected);
    let source = json!({"target": null});
    let expected = r#"{"target":{"kind":"","name":""},"metricName":"","targetValue":"0"}"#;
    assert_eq!(go_text("autoscaling.v1.ObjectMetricSource", &source), expected);
}
