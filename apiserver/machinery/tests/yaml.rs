//! Tests of how YAML is written.

use machinery::decode;
use machinery::yaml::write;
use serde_json::json;

#[test]
fn what_is_written_is_read_back() {
    let cases = [
        json!({"a": {"b": [1, "2", {"c": null, "d": [[], {}, [1, [2]]]}]}, "yes": "on", "x": "true"}),
        json!({"text": "several\nlines: #here", "empty": "", "number": "012", "time": "2026-01-01T00:00:00Z"}),
        json!([{"a": 1, "b": {"c": "-"}}, "~", " lead", "tab\t", "unicode ü \u{2028}", "quote\"", "a: b", 1.5, -3]),
        json!("x"),
        json!({}),
    ];
    for case in cases {
        let text = write(&case).unwrap();
        let read = decode::yaml(text.as_bytes()).unwrap();
        assert_eq!(read.value, case, "{text}");
    }
}

#[test]
fn it_looks_as_kubectl_writes_it() {
    let value = json!({"kind": "X", "spec": {"list": [{"a": "b", "c": 1}], "none": [], "text": "a\nb\n", "time": "2026-01-01T00:00:00Z", "word": "yes"}});
    let text = "kind: X\nspec:\n  list:\n  - a: b\n    c: 1\n  none: []\n  text: |\n    a\n    b\n  time: \"2026-01-01T00:00:00Z\"\n  word: \"yes\"\n";
    assert_eq!(write(&value).unwrap(), text);
}
