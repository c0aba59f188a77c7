//! Generates inputs in the structure that a parser expects: deep, wide and repetitive ones, which mutations
//! of bytes never reach.

use cel::limits::MAX_CEL_DEPTH;
use machinery::limits::{MAX_DEPTH, MAX_SCHEMA_DEPTH};
use machinery::random::Random;
use serde_json::{Map, Value, json};

/// Returns a number below `limit`.
pub fn below(random: &Random, limit: usize) -> usize {
    usize::try_from(random.number() % u64::try_from(limit).unwrap()).unwrap()
}

/// Returns one of the values.
pub fn pick<'a, T: ?Sized>(random: &Random, of: &[&'a T]) -> &'a T {
    of[below(random, of.len())]
}

/// Returns a number of levels or repetitions: small, about `limit`, or very large.
pub fn many(random: &Random, limit: usize) -> usize {
    match below(random, 4) {
        0 => below(random, 8),
        1 => limit - 4 + below(random, 8),
        2 => below(random, 2 * limit),
        _ => 1_000 + below(random, 4_000),
    }
}

/// Puts shapes, each a beginning and an end, around each other; the number of levels is that of [`many`].
pub fn nested(random: &Random, shapes: &[(&str, &str)], inner: &str, limit: usize) -> String {
    let levels = many(random, limit);
    if below(random, 2) == 0 {
        let (before, after) = shapes[below(random, shapes.len())];
        return [before.repeat(levels), inner.to_owned(), after.repeat(levels)].concat();
    }
    // Nested shapes of different kinds.
    let chosen: Vec<(&str, &str)> = (0..levels).map(|_| shapes[below(random, shapes.len())]).collect();
    let before = chosen.iter().map(|(before, _)| *before);
    let after = chosen.iter().rev().map(|(_, after)| *after);
    before.chain([inner]).chain(after).collect()
}

/// Generates a YAML document.
pub fn yaml(random: &Random) -> String {
    const SHAPES: [(&str, &str); 9] = [
        ("{a: ", "}"),
        ("[", "]"),
        ("[x, ", ", y]"),
        ("{? ", ": 1}"),
        ("!!seq [", "]"),
        ("- ", ""),
        ("? ", ""),
        ("&a [", "]"),
        ("{\"a\":1,\"b\":", "}"),
    ];
    match below(random, 5) {
        0 => nested(random, &SHAPES, pick(random, &["1", "*a", "", "~", "'"]), MAX_DEPTH),
        1 => (0..many(random, MAX_DEPTH).min(1_500)).map(|level| " ".repeat(level) + "a:\n").collect(),
        2 => {
            let links = below(random, 120);
            let link = |link: usize| format!("l{link}: &a{link} [[[*a{}, *a0]]]\n", link.saturating_sub(1));
            "l: &a0 [x]\n".to_owned() + &(1..links.max(2)).map(link).collect::<String>()
        }
        3 => (0..many(random, 100)).map(|number| format!("k{}: &x{number} v\n", number % 50)).collect(),
        _ => block(random, 0),
    }
}

/// Generates a node in block style, to follow its key or dash.
fn block(random: &Random, indent: usize) -> String {
    let space = " ".repeat(indent);
    let scalars =
        ["1", "x: y", "'a'", "|\n    text\n", ">-\n  b", "!!int 3", "0x1f", "~", "{a: [b]}", "*a", "&a b"];
    if indent > 12 {
        return format!(" {}\n", pick(random, &scalars));
    }
    match below(random, 4) {
        0 => (0..=below(random, 4)).fold("\n".to_owned(), |text, _| {
            text + &space
                + pick(random, &["a:", "b:", "\"c\":", "<<:", "? d\n:"])
                + &block(random, indent + 2)
        }),
        1 => (0..=below(random, 4))
            .fold("\n".to_owned(), |text, _| text + &space + "-" + &block(random, indent + 2)),
        _ => format!(" {}\n", pick(random, &scalars)),
    }
}

/// Generates a CEL rule.
pub fn rule(random: &Random) -> String {
    const SHAPES: [(&str, &str); 12] = [
        ("(", ")"),
        ("[", "]"),
        ("{'a': ", "}"),
        ("!", ""),
        ("-", ""),
        ("true ? ", " : 1"),
        ("dyn(", ")"),
        ("[1].map(x, ", ")"),
        ("[1].all(x, ", ")"),
        ("optional.of(", ")"),
        ("size([", "])"),
        ("1 + ", ""),
    ];
    const CHAINS: [&str; 12] = [
        " || self.c == {}",
        " && true",
        " + 1",
        ".map(x, [x, x])",
        ".map(x, x + x)",
        ".map(x, {x: x})",
        ".trim()",
        "[0]",
        ".?a",
        " == 1",
        " ? 1 : 2",
        ".filter(x, true)",
    ];
    match below(random, 4) {
        0 => nested(random, &SHAPES, &term(random, 1), MAX_CEL_DEPTH),
        1 => {
            let chain = pick(random, &CHAINS);
            term(random, 1)
                + &chain.repeat(many(random, MAX_CEL_DEPTH))
                + pick(random, &["", " == []", " == 1"])
        }
        2 => {
            let chain: String = (0..below(random, 60)).map(|_| pick(random, &CHAINS)).collect();
            format!("[[1], [2]]{chain} == [[1], [2]]{chain}")
        }
        _ => term(random, 5),
    }
}

fn term(random: &Random, depth: usize) -> String {
    const LEAVES: [&str; 12] =
        ["self", "self.a", "self.b", "self.c", "oldSelf", "1", "1.5", "'x'", "true", "null", "x", "[1, 2]"];
    if depth == 0 {
        return pick(random, &LEAVES).to_owned();
    }
    let part = || term(random, depth - 1);
    match below(random, 8) {
        0 => format!(
            "({} {} {})",
            part(),
            pick(random, &["+", "-", "==", "<", "in", "&&", "||", "*", "%"]),
            part()
        ),
        1 => format!(
            "{}.{}(x, {})",
            part(),
            pick(random, &["all", "exists", "map", "filter", "exists_one", "sortBy"]),
            part()
        ),
        2 => format!("({} ? {} : {})", part(), part(), part()),
        3 => format!("[{}, {}]", part(), part()),
        4 => format!("{{{}: {}}}", part(), part()),
        5 => {
            let function =
                ["size", "string", "int", "dyn", "duration", "quantity", "lists.range", "optional.of", "has"];
            format!("{}({})", pick(random, &function), part())
        }
        6 => {
            let member = ["split", "replace", "matches", "join", "format", "contains", "flatten", "orValue"];
            format!("{}.{}({})", part(), pick(random, &member), part())
        }
        _ => pick(random, &LEAVES).to_owned(),
    }
}

/// Generates a schema as JSON.
pub fn schema(random: &Random) -> String {
    const SHAPES: [(&str, &str); 6] = [
        (r#"{"type":"object","properties":{"a":"#, "}}"),
        (r#"{"type":"array","x-kubernetes-list-type":"set","items":"#, "}"),
        (r#"{"type":"object","additionalProperties":"#, "}"),
        (r#"{"type":"object","allOf":["#, "]}"),
        (r#"{"type":"object","default":{},"not":"#, "}"),
        (
            r#"{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object"},"spec":"#,
            "}}",
        ),
    ];
    const PATTERNS: [&str; 6] = [
        "(a{1000}){1000}",
        "(\\pL{50}){50}",
        "^[a-z]{1,63}$",
        "((((a*)*)*)*)*",
        "(?i)\\p{Greek}{900}",
        "[[:alpha:]-[^]]+",
    ];
    match below(random, 4) {
        0 => nested(random, &SHAPES, r#"{"type":"string"}"#, MAX_SCHEMA_DEPTH.min(100)),
        1 => {
            let field = |number: usize| {
                let pattern = format!("{}{}", pick(random, &PATTERNS), number % 300);
                (format!("f{number}"), json!({"type": "string", "pattern": pattern, "enum": ["a", "b"]}))
            };
            let fields: Map<String, Value> = (0..many(random, 100)).map(field).collect();
            json!({"type": "object", "properties": fields}).to_string()
        }
        2 => {
            let rules =
                vec![json!({"rule": rule(random), "messageExpression": rule(random)}); below(random, 20)];
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rules}).to_string()
        }
        _ => tree(random, 4).to_string(),
    }
}

fn tree(random: &Random, depth: usize) -> Value {
    let kind =
        if depth == 0 { "string" } else { pick(random, &["object", "array", "string", "integer", "object"]) };
    let mut node = json!({"type": kind});
    match kind {
        "object" if below(random, 3) == 0 => node["additionalProperties"] = tree(random, depth - 1),
        "object" => {
            for name in ["a", "list", "map", "metadata", "x-y"].iter().take(below(random, 6)) {
                node["properties"][name] = tree(random, depth - 1);
            }
        }
        "array" => {
            node["items"] = tree(random, depth - 1);
            node["x-kubernetes-list-type"] = pick(random, &["set", "map", "atomic"]).into();
            node["x-kubernetes-list-map-keys"] = json!(["a"]);
        }
        _ => node["format"] = pick(random, &["date", "byte", "int32", "duration", "uri"]).into(),
    }
    match below(random, 6) {
        0 => node["default"] = pick(random, &["x", ""]).into(),
        1 => node["nullable"] = true.into(),
        2 => node["x-kubernetes-preserve-unknown-fields"] = true.into(),
        3 => node["x-kubernetes-validations"] = json!([{"rule": rule(random), "fieldPath": ".a"}]),
        4 => node["anyOf"] = json!([{"required": ["a"]}, {"not": {"maxLength": 1}}]),
        _ => node["enum"] = json!(["a", 1, null]),
    }
    node
}
