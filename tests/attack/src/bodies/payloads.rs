//! Deep, wide, repetitive and huge inputs in each supported format.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Size in bytes of a body that the server still accepts.
pub const WHOLE: usize = 3 * 1024 * 1024 - 4096;

/// Nests `inner` between `open` and `close`, `depth` times.
pub fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Joins `count` items, each built from its number.
pub fn many(count: usize, separator: &str, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(separator)
}

/// Nesting depths around the limits of parsers with and without a depth limit.
const DEPTHS: &[usize] = &[250, 900, 1_100, 3_000, 20_000, 500_000];

/// Returns named JSON texts, among them valid objects.
pub fn json_texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for depth in DEPTHS {
        all.push((
            format!("JSON lists {depth} deep"),
            format!("{{\"spec\":{}}}", nested("[", "1", "]", *depth)),
        ));
        all.push((format!("JSON maps {depth} deep"), nested("{\"a\":", "1", "}", *depth)));
        all.push((format!("JSON open lists {depth} deep"), "[".repeat(*depth)));
    }
    let pairs = |count, one: fn(usize) -> String| format!("{{{}}}", many(count, ",", one));
    all.push(("JSON, 200 000 unknown fields".into(), pairs(200_000, |at| format!("\"f{at}\":1"))));
    all.push(("JSON, one field 300 000 times".into(), pairs(300_000, |_| "\"a\":1".into())));
    all.push((
        "JSON, two fields 200 000 times".into(),
        pairs(200_000, |at| format!("\"{}\":1", if at % 2 == 0 { "spec" } else { "x" })),
    ));
    let repeated = nested("{\"a\":", "{\"b\":1,\"b\":2}", "}", 240);
    all.push((
        "JSON, repeated fields at depth".into(),
        format!("{{\"l\":[{}]}}", many(1_500, ",", |_| repeated.clone())),
    ));
    let unknown = pairs(60_000, |at| format!("\"{at}\":1"));
    all.push(("JSON, unknown fields at depth".into(), nested("{\"spec\":", &unknown, "}", 240)));
    all.push(("JSON, a number of 3 MB".into(), format!("{{\"a\":{}}}", "9".repeat(WHOLE))));
    all.push((
        "JSON, a great exponent".into(),
        format!("{{\"a\":[{}]}}", many(100_000, ",", |at| format!("1e{at}999"))),
    ));
    all.push(("JSON, a key of 3 MB".into(), format!("{{\"{}\":1}}", "k".repeat(WHOLE))));
    all.push((
        "JSON, a string of escapes".into(),
        format!("{{\"a\":\"{}\"}}", "\\u00e9".repeat(WHOLE / 6 - 4)),
    ));
    all.push(("JSON, half surrogates".into(), format!("{{\"a\":\"{}\"}}", "\\ud800".repeat(WHOLE / 6 - 4))));
    all.push((
        "JSON, a million empty maps".into(),
        format!("{{\"a\":[{}]}}", many(WHOLE / 3 - 9, ",", |_| "{}".into())),
    ));
    all.push(("blanks".into(), " ".repeat(WHOLE)));
    all
}

/// Returns named YAML texts.
pub fn yaml_texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for depth in [250, 600, 900, 1_700] {
        let block: String = (0..depth).fold(String::new(), |mut text, level| {
            let _ = writeln!(text, "{}a:", " ".repeat(level));
            text
        });
        all.push((format!("YAML maps {depth} deep"), block));
    }
    for depth in DEPTHS {
        all.push((format!("YAML lists in a line {depth} deep"), "- ".repeat(*depth) + "x"));
        all.push((format!("YAML flow lists {depth} deep"), nested("[", "x", "]", *depth)));
        all.push((format!("YAML flow maps {depth} deep"), nested("{a: ", "x", "}", *depth)));
        all.push((format!("YAML complex keys {depth} deep"), "? ".repeat(*depth) + "x"));
        all.push((format!("YAML open flow {depth} deep"), "{? [".repeat(*depth)));
    }
    let bomb: String = (1..12).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |mut text, level| {
        let before = vec![format!("*a{}", level - 1); 9].join(",");
        let _ = writeln!(text, "a{level}: &a{level} [{before}]");
        text
    });
    all.push(("YAML, aliases of aliases".into(), bomb));
    all.push(("YAML, an alias of itself".into(), "a: &a [*a, *a]\n".into()));
    all.push((
        "YAML, merges of merges".into(),
        (1..3_000).fold("a0: &a0 {x: 1}\n".to_owned(), |mut text, level| {
            let _ = writeln!(text, "a{level}: &a{level} {{<<: *a{}, y{level}: 1}}", level - 1);
            text
        }),
    ));
    all.push(("YAML, 500 000 anchors".into(), many(200_000, "\n", |at| format!("- &a{at} x"))));
    all.push(("YAML, one key 400 000 times".into(), "a: 1\n".repeat(400_000)));
    all.push(("YAML, 200 000 keys".into(), many(200_000, "\n", |at| format!("k{at}: 1"))));
    all.push(("YAML, 700 000 documents".into(), "---\n".repeat(700_000)));
    all.push(("YAML, tags".into(), "- !!binary !a!b x\n".repeat(100_000)));
    all.push(("YAML, directives".into(), "%TAG !a! tag:x\n".repeat(150_000) + "--- x\n"));
    all.push((
        "YAML, a scalar that is folded for ever".into(),
        "a: >\n".to_owned() + &" x\n\n".repeat(500_000),
    ));
    all.push(("YAML, quotes that do not end".into(), "a: \"".to_owned() + &"\\\n  ".repeat(500_000)));
    all.push(("YAML, a comment of 3 MB".into(), "#".repeat(WHOLE)));
    all.push(("YAML, only indentation".into(), many(1_700, "\n", |at| " ".repeat(at)) + "x: 1"));
    all.push(("YAML, implicit keys that never come".into(), "[".to_owned() + &"a ".repeat(1_000_000)));
    all.push(("YAML, question marks".into(), "?\n".repeat(1_000_000)));
    all
}

/// Returns named CEL expressions.
pub fn expressions() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for count in [400, 1_000, 3_000, 60_000] {
        for operator in ["||", "&&", "+", "-", "*", "==", "in", "?"] {
            let one = if ["||", "&&"].contains(&operator) { "true" } else { "1" };
            let text = match operator {
                "?" => "true?1:".repeat(count) + "1",
                operator => many(count, operator_between(operator), |_| one.to_owned()),
            };
            all.push((format!("CEL, {count} times {operator}"), text));
        }
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{1:", "1", "}"),
            ("!", "true", ""),
            ("-", "1", ""),
            ("size([", "1", "])"),
            ("has(self.", "a", ")"),
        ] {
            all.push((format!("CEL, {open} {count} deep"), nested(open, inner, close, count)));
        }
        for (first, then) in [
            ("self", ".a"),
            ("[1]", "[0]"),
            ("self", ".map(x, x)"),
            ("'a'", ".lowerAscii()"),
            ("self", "[?'a']"),
            ("dyn(1)", ".f(1)"),
        ] {
            all.push((format!("CEL, {count} times {then}"), first.to_owned() + &then.repeat(count)));
        }
    }
    for depth in [6, 40, 900] {
        let inner: String = (0..depth).map(|at| format!("[1,2,3,4,5,6,7,8,9].all(x{at}, ")).collect();
        all.push((format!("CEL, {depth} loops"), format!("{inner}true{}", ")".repeat(depth))));
    }
    all.push(("CEL, a string of 1 MB".into(), format!("'{}' == ''", "x".repeat(1_000_000))));
    all.push((
        "CEL, a list of 300 000".into(),
        format!("[{}].size() > 0", many(300_000, ",", |_| "1".into())),
    ));
    all.push((
        "CEL, a heavy pattern".into(),
        format!("'{}'.matches('(((a{{100}}){{100}}){{100}})*$')", "a".repeat(1_000)),
    ));
    all.push((
        "CEL, patterns from patterns".into(),
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a|a?)+$')".into(),
    ));
    all.push(("CEL, a string that doubles".into(), "'x'".to_owned() + &".replace('x', 'xx')".repeat(60)));
    all.push(("CEL, format".into(), "'%s%s%s%s'.format([self, self, self, self])".into()));
    all
}

fn operator_between(operator: &str) -> &str {
    if operator == "in" { " in " } else { operator }
}

/// Returns regular expressions that are expensive to compile or to match.
pub fn patterns() -> Vec<String> {
    let mut all = vec![
        "((a{1000}){1000}){1000}".to_owned(),
        "(a{0,1000}){0,1000}".to_owned(),
        "[\\pL\\pN]{1,1000}".to_owned(),
        "(\\pL{200}|\\pN{200}){100}".to_owned(),
        "(?i)[^x]{999}\\w{999}".to_owned(),
        "(a|b|ab)*c".repeat(500),
        nested("(", "a", ")", 900),
        nested("(", "a", ")", 50_000),
        nested("(?:", "a*", ")*", 900),
        "|".repeat(100_000),
        "[".repeat(50_000),
    ];
    all.extend((0..40).map(|at| format!("^[\\w]{{{},{}}}$", 900 + at, 1_000)));
    all
}

/// Returns named protobuf messages in Kubernetes' envelope.
pub fn protobufs(kind: &str) -> Vec<(String, Vec<u8>)> {
    let envelope = |raw: &[u8]| {
        let meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [b"k8s\0".to_vec(), field(1, &meta), field(2, raw)].concat()
    };
    let deep =
        |depth: usize, number: u32| (0..depth).fold(Vec::new(), |inner: Vec<u8>, _| field(number, &inner));
    let mut all = Vec::new();
    for depth in [900, 3_000] {
        for number in [1, 2, 11] {
            all.push((format!("protobuf, field {number} {depth} deep"), envelope(&deep(depth, number))));
        }
        all.push((
            format!("protobuf, envelopes {depth} deep"),
            (0..depth).fold(Vec::new(), |inner: Vec<u8>, _| envelope(&inner)),
        ));
    }
    all.push(("protobuf, groups 1 000 000 deep".into(), envelope(&[0x0b; 1_000_000])));
    all.push((
        "protobuf, a length beyond everything".into(),
        envelope(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
    ));
    all.push(("protobuf, a number without an end".into(), envelope(&[0xff; 100_000])));
    all.push(("protobuf, one field 700 000 times".into(), envelope(&[0x10, 0x01].repeat(700_000))));
    all.push(("protobuf, 700 000 empty objects".into(), envelope(&[0x0a, 0x00].repeat(700_000))));
    all.push((
        "protobuf, 700 000 times map entries".into(),
        envelope(&[0x12, 0x02, 0x0a, 0x00].repeat(300_000)),
    ));
    all
}

/// Encodes a length-delimited protobuf field.
fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![u8::try_from(number << 3 | 2).unwrap_or_default()];
    let mut length = bytes.len();
    while length > 0x7f {
        all.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    all.push(length as u8);
    all.extend_from_slice(bytes);
    all
}

/// Returns named CBOR values.
pub fn cbors() -> Vec<(String, Vec<u8>)> {
    vec![
        ("CBOR, lists 1 000 000 deep".into(), [&[0xd9, 0xd9, 0xf7][..], &[0x81; 1_000_000]].concat()),
        ("CBOR, endless lists".into(), [&[0xd9, 0xd9, 0xf7][..], &[0x9f; 1_000_000]].concat()),
        ("CBOR, tags 1 000 000 deep".into(), vec![0xc6; 1_000_000]),
        (
            "CBOR, a length beyond everything".into(),
            vec![0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ),
        ("CBOR, a list beyond everything".into(), vec![0x9b, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    ]
}

/// Returns a ConfigMap whose managed fields have the tree `fields`.
pub fn managed(fields: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "managed", "managedFields": [{
            "manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        }]},
    })
}
