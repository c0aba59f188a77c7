//! Tests of `firstlight::manifests::field_path`.

use firstlight::manifests::field_path::find;
use serde_json::{Value, json};

#[test]
fn values_are_found_by_names_and_selectors() {
    let object = json!({
        "metadata": {"annotations": {"a": "x"}},
        "spec": {
            "taints": [{"key": "a", "effect": "NoSchedule", "value": "1"}, {"key": "a.b[c]", "effect": "NoExecute", "value": "2"}],
            "finalizers": ["one", "two"],
        },
    });
    for (path, expected) in [
        ("metadata.annotations.a", Some("x")),
        (".spec.taints[key=\"a.b[c]\",effect=\"NoExecute\"].value", Some("2")),
        ("spec.finalizers[=\"two\"]", Some("two")),
        ("spec.finalizers[0]", Some("one")),
        ("spec.paused", None),
        ("spec.taints[key=\"b\"].value", None),
        ("spec.finalizers.name", None),
    ] {
        assert_eq!(find(&object, path).and_then(Value::as_str), expected, "{path}");
    }
}
