//! Paths of fields in rules.

use machinery::schema::Schema;
use machinery::schema::field_path::find;
use serde_json::json;

#[test]
fn what_paths_name() {
    let schema = Schema::parse(&json!({"type": "object", "properties": {
        "a-b": {"type": "string"},
        "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "l": {"type": "array", "items": {"type": "string"}},
    }}))
    .unwrap();
    for (path, wanted) in [
        (".a-b", Ok("a-b")),
        ("['a-b']", Ok("a-b")),
        (".m.k.x", Ok("m[k].x")),
        (".m['it\\'s'].x", Ok("m[it's].x")),
        (".", Err("unexpected end of JSON path")),
        (".m.", Err("unexpected end of JSON path")),
        (".m[", Err("unexpected end of JSON path")),
        (".m['k'", Err("unexpected end of JSON path")),
        (".m['k", Err("expected single quoted string but got 'k")),
        (".m[0]", Err("expected single quoted string but got 0")),
        ("m", Err("expected [ or . but got: m")),
        (".m['k']x", Err("expected [ or . but got: x")),
        (".l.x", Err("does not refer to a valid field")),
        ("..m", Err("does not refer to a valid field")),
        (".n", Err("does not refer to a valid field")),
    ] {
        let found = find(&schema, path, true).map(|(shown, _)| shown);
        assert_eq!(found.as_deref(), wanted.map_err(str::to_owned).as_ref().copied(), "{path}");
    }
    assert_eq!(find(&schema, "['a-b']", false).unwrap_err(), "array notation is not allowed");
}
