//! Nested input of all formats. Input at the limit is accepted on half the stack of a thread, and deeper input is
//! refused, even with a million levels. A stack overflow would abort the test program.

use machinery::apply::{self, Reset, Writer};
use machinery::clock::Clock;
use machinery::limits::{MAX_DEPTH, MAX_PATH_FILTERS};
use machinery::schema::{self, Schema};
use machinery::table::Path;
use machinery::{decode, patch};
use serde_json::{Value, json};

use crate::machinery::OneSchema;

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
    schema::validate_values(&schema, &object, Some(&object.clone()));
    schema::validate_lists(&schema, &object);
    schema::validate_embedded(&schema, &object);
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
