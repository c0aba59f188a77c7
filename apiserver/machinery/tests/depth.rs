//! Nested input of all formats. Input at the limit is accepted on half the stack of a thread, and deeper input is
//! refused, even with a million levels. A stack overflow would abort the test program.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use machinery::apply::{self, OneSchema, Reset, Writer};
use machinery::clock::Clock;
use machinery::limits::{MAX_CEL_DEPTH, MAX_CEL_SOURCE, MAX_DEPTH, MAX_PATH_FILTERS, MAX_SCHEMA_DEPTH};
use machinery::schema::{self, Rule, Schema};
use machinery::table::Path;
use machinery::{cel, crd, decode, patch, protobuf};
use serde_json::{Value, json};

/// Half the stack of a tokio worker thread (2 MiB), on which the server runs all of this code.
const STACK: usize = 1 << 20;

/// Runs `work` on a thread with half of the usual stack.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

/// Returns text with `levels` levels around `inner`.
fn nested(before: &str, inner: &str, after: &str, levels: usize) -> String {
    [before.repeat(levels), inner.to_owned(), after.repeat(levels)].concat()
}

fn object(levels: usize) -> String {
    nested("{\"a\":", "1", "}", levels)
}

/// A function that generates text of a given depth, the function that reads it, the limit, and the error above the
/// limit.
struct Case {
    name: &'static str,
    text: fn(usize) -> String,
    read: fn(&str) -> Result<(), String>,
    limit: usize,
    refusal: &'static str,
}

fn check(cases: Vec<Case>, many: usize) {
    for Case { name, text, read, limit, refusal } in cases {
        let at = on_a_small_stack(move || read(&text(limit)));
        assert_eq!(at, Ok(()), "{name} at the limit");
        for levels in [limit + 1, many] {
            let above = on_a_small_stack(move || read(&text(levels))).unwrap_err();
            assert!(above.contains(refusal), "{name} with {levels} levels: {above:.200}");
        }
    }
}

/// Parses, copies, compares, encodes and drops the value.
fn through(decoded: Result<decode::Decoded, String>) -> Result<(), String> {
    let value = decoded?.value;
    let again = decode::own(value.to_string().as_bytes());
    assert_eq!(again.as_ref().ok(), Some(&value.clone()));
    let schema =
        Schema::parse(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})).unwrap();
    let mut object = json!({"metadata": {"name": "a"}, "spec": value});
    schema::coerce(&schema, &mut object)?;
    schema::default(&schema, &mut object);
    schema::validate(&schema, &object, Some(&object.clone()), Vec::new(), cel::Known::default());
    Ok(())
}

fn yaml(text: &str) -> Result<(), String> {
    through(decode::yaml(text.as_bytes()))
}

#[test]
fn documents() {
    let json: fn(&str) -> Result<(), String> = |text| through(decode::json(text.as_bytes()));
    let block: fn(usize) -> String = |levels| {
        (0..levels).map(|level| " ".repeat(level) + "a:\n").collect::<String>() + &" ".repeat(levels) + "b"
    };
    let case = |name, text, read, refusal| Case { name, text, read, limit: MAX_DEPTH, refusal };
    let (max, budget) = ("exceeded max depth", "yaml: ");
    check(
        vec![
            case("JSON objects", object, json, max),
            case("JSON lists", |levels| nested("[", "1", "]", levels), json, max),
            case("YAML flow mappings", |levels| nested("{a: ", "1", "}", levels), yaml, budget),
            case("YAML flow sequences", |levels| nested("[", "1", "]", levels), yaml, budget),
            case("YAML sequences in a line", |levels| nested("- ", "1", "", levels), yaml, budget),
            case("JSON as YAML", object, yaml, budget),
            case("tags", |levels| nested("!!seq [", "1", "]", levels), yaml, budget),
        ],
        1_000_000,
    );
    check(vec![case("YAML block mappings", block, yaml, budget)], 2_000);
}

/// An alias has as many levels as the value that it stands for.
#[test]
fn aliases_add_their_levels() {
    let text = |links: usize| {
        let link = |link: usize| {
            let inner = if link == 0 { "1".to_owned() } else { format!("*a{}", link - 1) };
            format!("l{link}: &a{link} {}\n", nested("[", &inner, "]", 20))
        };
        (0..links).map(link).collect::<String>()
    };
    let links = MAX_DEPTH / 20;
    assert_eq!(on_a_small_stack(move || yaml(&text(links))), Ok(()));
    let above = on_a_small_stack(move || yaml(&text(90))).unwrap_err();
    assert!(above.starts_with("yaml: "), "{above}");
    // Keys that are not text are refused at any depth.
    assert!(on_a_small_stack(|| yaml(&nested("? ", "a", "", 100_000))).is_err());
}

#[test]
fn patches() {
    let deep: Value = decode::json(object(MAX_DEPTH).as_bytes()).unwrap().value;
    let live = deep.clone();
    let merged =
        on_a_small_stack(move || patch::merge_patch(&live, object(MAX_DEPTH).as_bytes()).unwrap().object);
    assert_eq!(merged, deep);
    let schema = Schema::default();
    let live = deep.clone();
    on_a_small_stack(move || {
        patch::strategic_merge_patch(&live, object(MAX_DEPTH).as_bytes(), &schema).unwrap()
    });
    let add = |levels: usize, below: usize| json!([{"op": "add", "path": "/a".repeat(below), "value": decode::json(object(levels).as_bytes()).unwrap().value}]);
    let object = json!({"a": {"a": {"a": {}}}});
    let taken = patch::json_patch(&object, add(MAX_DEPTH - 3, 3).to_string().as_bytes());
    assert!(taken.is_ok());
    assert_eq!(
        patch::json_patch(&object, add(MAX_DEPTH - 2, 3).to_string().as_bytes()).unwrap_err().code,
        413
    );
    // A pointer with many steps does not exist in the object.
    let path = json!([{"op": "test", "path": "/a".repeat(1_000_000), "value": 1}]).to_string();
    assert_eq!(on_a_small_stack(move || patch::json_patch(&object, path.as_bytes()).unwrap_err().code), 422);
}

#[test]
fn managed_fields() {
    let own = |levels: usize| {
        let fields = nested("{\"f:a\":", "{}", "}", levels);
        let mut live = json!({"apiVersion": "v1", "kind": "T", "metadata": {"name": "a", "uid": "u"}});
        live["metadata"]["managedFields"] = json!([{"manager": "o", "operation": "Apply", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": decode::own::<Value>(fields.as_bytes()).unwrap()}]);
        let schema = Schema::default();
        let now = Clock::system().now();
        let writer = Writer {
            manager: "m",
            api_version: "v1",
            subresource: "",
            reset: Reset::Nothing,
            now,
            versions: &OneSchema(&schema),
        };
        let mut new = live.clone();
        new["spec"] = decode::own(object(levels).as_bytes()).unwrap();
        let updated = apply::update(Some(&live), new, &writer);
        let config =
            json!({"apiVersion": "v1", "kind": "T", "metadata": {"name": "a"}, "spec": updated["spec"]});
        drop(apply::apply(&updated, &config, true, &writer));
    };
    on_a_small_stack(move || own(MAX_DEPTH - 5));
}

#[test]
fn protobuf_holds_json_that_is_no_deeper() {
    let field = |number: u64, bytes: &[u8]| {
        let mut writer = protobuf::Writer::default();
        writer.bytes(number, bytes);
        writer.0
    };
    let body = move |levels: usize| {
        let fields = nested("{\"f:a\":", "{}", "}", levels);
        // ConfigMap.metadata.managedFields[].fieldsV1.raw
        let map = field(1, &field(17, &field(7, &field(1, fields.as_bytes()))));
        let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
        [b"k8s\0".as_slice(), &field(1, &kind), &field(2, &map)].concat()
    };
    for (levels, taken) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false), (1_000_000, false)] {
        let read =
            on_a_small_stack(move || protobuf::decode(&body(levels), None).map(|read| read.to_string()));
        assert_eq!(read.is_ok(), taken, "{levels}: {read:.200?}");
    }
    // Messages in unknown fields are skipped, however deep they are.
    let unknown = (0..5_000).fold(Vec::new(), |inner, _| field(999, &inner));
    on_a_small_stack(move || {
        protobuf::decode(&[b"k8s\0", unknown.as_slice()].concat(), Some(("v1", "ConfigMap"))).unwrap()
    });
}

fn schema_of(before: &str, after: &str, levels: usize) -> Value {
    decode::own(nested(before, r#"{"type":"string"}"#, after, levels).as_bytes()).unwrap()
}

/// Passes a definition with this schema, and an object of its kind with the same depth, through all steps.
fn define(source: &Value, object: Value) -> Result<(), String> {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.test"},
        "spec": {"group": "example.test", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": source}}]}});
    crd::decode(&mut definition)?;
    crd::default(&mut definition);
    crd::validate(&definition);
    crd::validate_update(&definition, &definition.clone());
    let schema = Schema::parse(source).map_err(|error| error.to_string())?;
    let mut object = object;
    schema::coerce(&schema, &mut object)?;
    schema::default(&schema, &mut object);
    schema::validate(&schema, &object, Some(&object.clone()), Vec::new(), cel::Known::default());
    assert_eq!(schema, schema.clone());
    Ok(())
}

#[test]
fn schemas() {
    let shapes = [
        (r#"{"type":"object","properties":{"a":"#, "}}"),
        (r#"{"type":"array","items":"#, "}"),
        (r#"{"type":"object","additionalProperties":"#, "}"),
        (r#"{"not":"#, "}"),
        (r#"{"allOf":["#, "]}"),
        (r#"{"type":"object","default":{"a":{}},"anyOf":["#, "]}"),
        (
            r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"self == oldSelf"}],"properties":{"a":"#,
            "}}",
        ),
    ];
    for (before, after) in shapes {
        let at = on_a_small_stack(move || {
            let value = decode::own(object(MAX_SCHEMA_DEPTH).as_bytes()).unwrap();
            define(&schema_of(before, after, MAX_SCHEMA_DEPTH), value)
        });
        assert_eq!(at, Ok(()), "{before}");
        let above = on_a_small_stack(move || {
            Schema::parse(&schema_of(before, after, MAX_SCHEMA_DEPTH + 1)).unwrap_err().to_string()
        });
        assert!(above.contains("nested deeper than 128 levels"), "{above}");
    }
}

/// Checks and evaluates a rule on the whole object.
fn rule(text: &str) -> Result<(), String> {
    let rule = Rule { rule: text.to_owned(), ..Rule::default() };
    let source = json!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "additionalProperties": {"type": "string"}}, "b": {"type": "boolean"}}});
    let mut schema = Schema::parse(&source).unwrap();
    if let Some(problem) = cel::check::problems(&schema, &rule, true).0.first() {
        return Err(format!("{problem:?}"));
    }
    schema.rules = vec![rule];
    schema.has_rules = true;
    let value = json!({"a": {"a": "x"}, "b": true});
    let found = cel::validate(&schema, &value, Some(&value), cel::Known::default());
    found.first().map_or(Ok(()), |error| Err(error.to_string()))
}

#[test]
fn rules() {
    let depth = "expression recursion limit exceeded: 250";
    let case =
        |name, text, less| Case { name, text, read: rule, limit: MAX_CEL_DEPTH - less, refusal: depth };
    check(
        vec![
            case("parentheses", |levels| nested("(", "true", ")", levels), 1),
            case("lists", |levels| nested("[", "1", "]", levels) + " != []", 2),
            case("maps", |levels| nested("{1: ", "1", "}", levels) + " != {}", 2),
            case("additions", |levels| "1".to_owned() + &" + 1".repeat(levels) + " > 0", 2),
            case("conditions", |levels| "true ? true : ".repeat(levels) + "true", 1),
            case("conditions in conditions", |levels| nested("(true ? ", "true", " : true)", levels), 2),
            case("indices", |levels| "[[1]]".to_owned() + &".map(x, [x])".repeat(levels) + " != []", 4),
            case("macros", |levels| nested("[1].all(x, ", "true", ")", levels), 2),
            case("calls", |levels| nested("dyn(", "true", ")", levels) + " == true", 2),
            case("receivers", |levels| "'a'".to_owned() + &".trim()".repeat(levels) + " == 'a'", 2),
            case("optionals", |levels| nested("optional.of(", "1", ")", levels) + ".hasValue()", 2),
        ],
        3_000,
    );
    // Chains of these operators may be as long as a source may be.
    for text in [
        "true".to_owned() + &" || self.b".repeat(9_000),
        "true".to_owned() + &" && true || false".repeat(5_000),
        "!".repeat(50_000) + "true",
        "self.b && ".repeat(9_000) + "self.b",
    ] {
        assert_eq!(on_a_small_stack(move || rule(&text)), Ok(()));
    }
    for text in [
        ".".repeat(90_000),
        "(".repeat(90_000),
        "[".repeat(90_000),
        "!-".repeat(40_000),
        "-".repeat(90_001) + "1 < 0",
    ] {
        drop(on_a_small_stack(move || rule(&text)));
    }
    // The operand in front of a chain is below the chain in the tree.
    let steps = |text: String| format!("({text}{})", " + 1".repeat(100));
    let wide = (0..100).fold("1".to_owned(), |text, _| steps(text)) + " > 0";
    assert!(on_a_small_stack(move || rule(&wide)).unwrap_err().contains(depth));
    let long = |characters: usize| format!("true{}", " ".repeat(characters - 4));
    assert_eq!(rule(&long(MAX_CEL_SOURCE)), Ok(()));
    let wanted = "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000";
    assert!(rule(&long(MAX_CEL_SOURCE + 1)).unwrap_err().contains(wanted));
}

#[test]
fn paths_of_columns() {
    let case = |name, text, less| Case {
        name,
        text,
        read: |text| Path::parse(text).map(|path| drop(path.find(&json!({"a": [{"a": []}]})))),
        limit: MAX_PATH_FILTERS - less,
        refusal: "more than 16 filters are nested",
    };
    check(vec![case("filters", |levels| nested(".a[?(@", ".a", ")]", levels), 0)], 20_000);
    let long = ".a".repeat(1_000_000);
    assert!(on_a_small_stack(move || Path::parse(&long)).is_ok());
}
