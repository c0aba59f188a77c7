//! Fields of JSON that is not parsed.

use bytes::Bytes;
use machinery::splice::{value, without_type};

fn stripped(text: &str) -> String {
    let mut pieces = Vec::new();
    without_type(&Bytes::copy_from_slice(text.as_bytes()), &mut pieces);
    String::from_utf8(pieces.concat()).unwrap()
}

#[test]
fn type_is_cut_out() {
    let cases = [
        (
            r#"{"apiVersion":"v1","data":{"a":"}\""},"kind":"X","metadata":{}}"#,
            r#"{"data":{"a":"}\""},"metadata":{}}"#,
        ),
        (r#"{"apiVersion":"v1","kind":"X"}"#, "{}"),
        (r#"{"a":1,"b":[1,{"c":"]"}],"kind":"X"}"#, r#"{"a":1,"b":[1,{"c":"]"}]}"#),
        (r#"{"kind":"X","z":null}"#, r#"{"z":null}"#),
        ("{}", "{}"),
        ("[1]", "[1]"),
    ];
    for (text, expected) in cases {
        assert_eq!(stripped(text), expected, "{text}");
    }
}

#[test]
fn one_value() {
    let text = Bytes::from_static(br#"{"a": {"b":1} ,"c":"\"","d":12}"#);
    assert_eq!(value(&text, "a").unwrap(), r#"{"b":1}"#);
    assert_eq!(value(&text, "c").unwrap(), r#""\"""#);
    assert_eq!(value(&text, "d").unwrap(), "12");
    assert_eq!(value(&text, "e"), None);
    for broken in ["", "{", r#"{"a"#, r#"{"a":"#, r#"{"a":{"#, r#"{"a":1"#, r#"{"a\"#] {
        assert_eq!(stripped(broken), broken, "what is no object stays as it is");
    }
    // The field is complete, and the text after it is not validated.
    assert_eq!(value(&Bytes::from_static(br#"{"a":{"b":2},"c"#), "a").unwrap(), r#"{"b":2}"#);
}
