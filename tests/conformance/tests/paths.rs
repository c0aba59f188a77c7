//! Tests of `conformance::paths`.

use conformance::paths::{lookup, remove, scalar, split};
use serde_json::json;

#[test]
fn paths_name_fields_and_items() {
    let value = json!({"a": {"b.c": [1, {"d": "x"}]}});
    let cases = [(r"a.b\.c.0", Some("1")), (r"a.b\.c[1].d", Some("x")), ("a.b", None), (r"a.b\.c.7", None)];
    for (path, expected) in cases {
        assert_eq!(lookup(&value, path).map(scalar).as_deref(), expected, "{path}");
    }
}

#[test]
fn ignored_paths_are_removed() {
    let cases = [
        ("a.b", json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 2}})),
        ("a.*.b", json!({"a": [{"b": 1}, {"c": 2}]}), json!({"a": [{}, {"c": 2}]})),
        ("a.1", json!({"a": [1, 2]}), json!({"a": [1, "<ignored>"]})),
        ("x.y", json!({"a": 1}), json!({"a": 1})),
    ];
    for (path, mut value, expected) in cases {
        remove(&mut value, &split(path));
        assert_eq!(value, expected, "{path}");
    }
}
