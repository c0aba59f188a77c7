//! Input that is cheap to send must be cheap to process. Without limits, each of these inputs takes minutes or all of
//! the memory, so the work is linear in the input or counted against a budget.

use machinery::limits::{MAX_DECODE_PROBLEMS, MAX_DECODE_PROBLEMS_TEXT, MAX_FIELD_ERRORS, MAX_PATHS_TEXT};
use machinery::schema::{self, Schema};
use machinery::{decode, patch, quantity};
use serde_json::{Map, Value, json};

const MANY: usize = 20_000;

fn fields(count: usize) -> Value {
    Value::Object((0..count).map(|number| (format!("f{number}"), json!(1))).collect::<Map<_, _>>())
}

#[test]
fn unknown_fields_are_written_down_up_to_a_limit() {
    let schema = Schema::parse(&json!({"type": "object", "properties": {"spec": {"type": "object",
        "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}}}}))
    .unwrap();
    for (name, count) in
        [("x".to_owned(), MAX_DECODE_PROBLEMS), ("x".repeat(100_000), 2 + MAX_DECODE_PROBLEMS_TEXT / 100_000)]
    {
        let mut object = json!({"metadata": {}, "spec": {name: fields(MANY)}});
        let unknown = schema::coerce(&schema, &mut object).unwrap();
        assert!(unknown.len() <= count, "{} are noted", unknown.len());
        assert!(
            object["spec"].as_object().unwrap().values().all(|inner| *inner == json!({})),
            "all of them went"
        );
    }
    let mut metadata = json!({"metadata": fields(MANY)});
    assert_eq!(schema::coerce(&schema, &mut metadata).unwrap().len(), MAX_DECODE_PROBLEMS);
}

#[test]
fn duplicate_fields_are_written_down_up_to_a_limit() {
    let twice: String = (0..MANY).map(|number| format!("\"f{number}\":1,\"f{number}\":2,")).collect();
    let text = |name: &str, fields: &str| format!("{{\"{name}\":{{{}}}}}", fields.trim_end_matches(','));
    let decoded = decode::json(text("a", &twice).as_bytes()).unwrap();
    assert_eq!((decoded.problems.len(), &decoded.value["a"]["f7"]), (MAX_DECODE_PROBLEMS, &json!(2)));
    let same = decode::json(text(&"x".repeat(1000), &"\"a\":1,".repeat(MANY)).as_bytes()).unwrap();
    assert_eq!(same.problems.len(), 1);
}

#[test]
fn names_above_many_fields_are_not_long() {
    let text = |length: usize| json!({"x".repeat(length): fields(MANY)}).to_string();
    let limit = MAX_PATHS_TEXT / (MANY + 1);
    assert!(decode::json(text(limit - 20).as_bytes()).is_ok());
    assert!(decode::yaml(text(1000).as_bytes()).is_ok());
    for read in [decode::json, decode::yaml] {
        let why = read(json!({"a": {"x".repeat(limit): fields(MANY)}}).to_string().as_bytes()).unwrap_err();
        assert!(why.contains("too long") || why.starts_with("yaml: "), "{why:.100}");
    }
    let add = json!([{"op": "add", "path": format!("/{}", "x".repeat(limit + 10)), "value": fields(MANY)}]);
    assert_eq!(patch::json_patch(&json!({}), add.to_string().as_bytes()).unwrap_err().code, 413);
    let moves: Vec<Value> = (0..10_000)
        .map(|number| json!({"op": "move", "from": format!("/a{number}"), "path": format!("/a{}", number + 1)}))
        .collect();
    let object = json!({"a0": fields(MANY)});
    assert_eq!(patch::json_patch(&object, Value::from(moves).to_string().as_bytes()).unwrap_err().code, 413);
}

#[test]
fn long_lists_are_looked_up() {
    let items: Vec<Value> =
        (0..MANY).map(|number| json!({"name": format!("n{number}"), "value": "x"})).collect();
    let allowed: Vec<Value> = (0..MANY).map(|number| json!(format!("n{number}"))).collect();
    let source = json!({"type": "object", "properties": {"list": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object",
            "properties": {"name": {"type": "string", "enum": allowed}, "value": {"type": "string"}}}}}});
    let schema = Schema::parse(&source).unwrap();
    let old = json!({"list": items});
    let mut new = old.clone();
    new["list"].as_array_mut().unwrap().reverse();
    assert_eq!(schema::validate_values(&schema, &new, Some(&old)), []);
    let wrong =
        json!({"list": (0..MANY).map(|number| json!({"name": format!("w{number}")})).collect::<Vec<_>>()});
    assert_eq!(schema::validate_values(&schema, &wrong, None).len(), MAX_FIELD_ERRORS);

    let list = json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name"});
    let set = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"});
    let built_in =
        Schema::parse(&json!({"type": "object", "properties": {"list": list, "set": set}})).unwrap();
    let order: Vec<Value> = (0..MANY).rev().map(|number| json!({"name": format!("n{number}")})).collect();
    let change = json!({"list": order, "$setElementOrder/list": order, "set": allowed});
    let live = json!({"list": items, "set": allowed});
    let merged =
        patch::strategic_merge_patch(&live, change.to_string().as_bytes(), &built_in).unwrap().object;
    assert_eq!(merged["list"][0], json!({"name": format!("n{}", MANY - 1), "value": "x"}));
    assert_eq!(merged["set"].as_array().unwrap().len(), MANY);
    let delete: Vec<Value> =
        (0..MANY).map(|number| json!({"$patch": "delete", "name": format!("n{number}")})).collect();
    let change = json!({"list": delete, "$deleteFromPrimitiveList/set": allowed}).to_string();
    let merged = patch::strategic_merge_patch(&live, change.as_bytes(), &built_in).unwrap().object;
    assert_eq!((&merged["list"], &merged["set"]), (&json!([]), &json!([])));
}

#[test]
fn alternatives_are_counted() {
    let alternatives: Vec<Value> =
        (0..2_000).map(|number| json!({"maxItems": 1, "items": {"maxLength": 3 + number % 2}})).collect();
    let schema = Schema::parse(
        &json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"},
        "anyOf": alternatives}}}),
    )
    .unwrap();
    let errors = schema::validate_values(&schema, &json!({"a": vec!["abc"; MANY]}), None);
    assert!(errors.iter().any(|error| error.detail.contains("take too long")), "{:.300?}", errors.first());
    assert!(errors.len() <= MAX_FIELD_ERRORS);
}

#[test]
fn numbers_with_large_exponents() {
    for (text, wanted) in [
        ("1e-2147483647", Ok("1e-9")),
        ("-3e-2147483647", Ok("-1e-9")),
        ("0e-2147483647", Ok("0")),
        ("1e9999999999", Err(quantity::SHAPE)),
    ] {
        assert_eq!(quantity::canonical(text), wanted.map(str::to_owned), "{text}");
    }
    assert!(decode::json(b"1e999999999").is_err());
    assert!(decode::json(format!("1{}", "0".repeat(1_000_000)).as_bytes()).is_err());
    assert_eq!(decode::json(b"1e-999999999").unwrap().value, json!(0));
}
