//! Decoding of JSON and YAML.

use machinery::decode::{json, yaml, yaml_documents};
use machinery::limits::{MAX_DEPTH, MAX_YAML_ALIASES};
use serde_json::json;

#[test]
fn numbers_as_go_reads_them() {
    let table = [
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("-0", json!(0)),
        ("1.50", json!(1.5)),
        ("9007199254740993", json!(9_007_199_254_740_993_i64)),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808_f64)),
    ];
    for (text, wanted) in table {
        assert_eq!(json(text.as_bytes()).unwrap().value, wanted, "{text}");
        assert_eq!(yaml(text.as_bytes()).unwrap().value, wanted, "{text} in YAML");
    }
}

#[test]
fn errors_as_go_words_them() {
    let table = [
        ("", "unexpected end of JSON input"),
        ("{\"a\":", "unexpected end of JSON input"),
        ("{not json", "invalid character 'n' looking for beginning of object key string"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"a\nb\"", "invalid character '\\n' in string literal"),
        ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
    ];
    for (text, wanted) in table {
        assert_eq!(json(text.as_bytes()).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn strings() {
    let table = [
        (r#""a\"\\\/\b\f\n\r\t""#.as_bytes(), "a\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9\ud83d\ude00""#.as_bytes(), "é😀"),
        (r#""\ud83dx""#.as_bytes(), "\u{fffd}x"),
        (b"\"\xff\"", "\u{fffd}"),
    ];
    for (text, wanted) in table {
        assert_eq!(json(text).unwrap().value, json!(wanted));
    }
}

#[test]
fn duplicate_fields_have_paths_and_the_last_one_counts() {
    let decoded = json(br#"{"a":1,"spec":{"l":[{"x":1,"x":2}],"b":{"c":1,"c":2,"c":3}},"a":3}"#).unwrap();
    let wanted =
        [r#"duplicate field "spec.l[0].x""#, r#"duplicate field "spec.b.c""#, r#"duplicate field "a""#];
    assert_eq!(decoded.problems, wanted);
    assert_eq!(decoded.value, json!({"a": 3, "spec": {"l": [{"x": 2}], "b": {"c": 3}}}));
    assert_eq!(decoded.strict_error().unwrap(), wanted.join(", "));
}

#[test]
fn depth() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
    let deepest = json(nested(MAX_DEPTH).as_bytes()).unwrap().value;
    assert_eq!(json(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err(), "exceeded max depth");
    // An accepted document can be read back from the store.
    assert_eq!(machinery::decode::own(deepest.to_string().as_bytes()).ok(), Some(deepest));
    assert!(yaml(nested(10_000).as_bytes()).is_err());
}

#[test]
fn yaml_problems_name_the_line() {
    let text = "apiVersion: v1\nkind: Widget\nspec:\n  size: 4\n  size: 5\n";
    let decoded = yaml(text.as_bytes()).unwrap();
    assert_eq!(decoded.value, json!({"apiVersion": "v1", "kind": "Widget", "spec": {"size": 5}}));
    assert_eq!(decoded.problems, [r#"line 5: key "size" already set in map"#]);
    let wanted = "yaml: unmarshal errors:\n  line 5: key \"size\" already set in map";
    assert_eq!(decoded.strict_error().unwrap(), wanted);
    assert!(yaml(b"a: [1").unwrap_err().starts_with("yaml: line 1: "));
}

#[test]
fn aliases_are_limited() {
    let text = |aliases: usize| format!("a: &a x\nb: [{}]\n", vec!["*a"; aliases].join(", "));
    assert!(yaml(text(MAX_YAML_ALIASES - 1).as_bytes()).is_ok());
    assert!(yaml(text(MAX_YAML_ALIASES).as_bytes()).is_ok());
    assert!(yaml(text(MAX_YAML_ALIASES + 1).as_bytes()).is_err());
}

#[test]
fn documents_know_where_they_begin() {
    let text = "# first\na: 1\n---\n\n---\n# only a comment\n--- # second\nb: 2\nc: |\n  ---\n  d\n";
    let documents = yaml_documents(text).unwrap();
    let found: Vec<_> = documents.into_iter().map(|(line, decoded)| (line, decoded.value)).collect();
    assert_eq!(found, [(1, json!({"a": 1})), (8, json!({"b": 2, "c": "---\nd\n"}))]);
    assert_eq!(yaml(b"").unwrap().value, json!(null));
}

#[test]
fn errors_of_go_yaml() {
    let cases = [
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("a: [b", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: {b: c", "yaml: line 1: did not find expected ',' or '}'"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: y\na: b: c\n", "yaml: line 2: mapping values are not allowed in this context"),
        ("a: @b\n", "yaml: found character that cannot start any token"),
    ];
    let found: Vec<String> =
        cases.iter().map(|(text, _)| yaml(text.as_bytes()).err().unwrap_or_default()).collect();
    assert_eq!(found, cases.map(|(_, wanted)| wanted.to_owned()));
}
