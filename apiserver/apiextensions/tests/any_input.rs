//! Random schemas, objects, definitions and rules never cause a panic, and accepted input is accepted again.

use apiextensions::{CompiledSchema, crd};
use cel::{Known, Rules};
use machinery::schema::{self, Rule, Schema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: [&str; 6] = ["a", "spec", "metadata", "x-y", "labels", "kind"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9:/.é%-]{0,8}".prop_map(Value::from),
        Just(json!("2020-01-01T00:00:00Z")),
    ]
}

fn object() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&NAMES[..]), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

/// Generates one keyword with a value that usually has the right type.
fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (String, Value)> {
    let named = |name: &'static str, value: BoxedStrategy<Value>| {
        value.prop_map(move |v| (name.to_owned(), v)).boxed()
    };
    let kinds = ["object", "array", "string", "integer", "number", "boolean", "null"];
    let formats =
        ["date", "duration", "byte", "int32", "uri", "ipv4", "uuid", "email", "cidr", "date-time", "mac"];
    let flags = [
        "nullable",
        "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields",
        "uniqueItems",
        "x-kubernetes-embedded-resource",
        "exclusiveMinimum",
    ];
    let numbers = ["minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxProperties"];
    let many = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from).boxed();
    let properties = prop::collection::btree_map(prop::sample::select(&NAMES[..]), inner.clone(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Map<_, _>>()))
        .boxed();
    let rule = source()
        .prop_map(|rule| json!([{"rule": rule, "fieldPath": ".a", "messageExpression": rule}]))
        .boxed();
    prop_oneof![
        4 => named("type", prop::sample::select(kinds.to_vec()).prop_map(Value::from).boxed()),
        3 => named("properties", properties),
        2 => named("items", inner.clone()),
        2 => named("additionalProperties", prop_oneof![inner.clone(), any::<bool>().prop_map(Value::from)].boxed()),
        1 => named("default", object().boxed()),
        1 => named("format", prop::sample::select(formats.to_vec()).prop_map(Value::from).boxed()),
        1 => named("pattern", prop_oneof!["[a-z(\\[?*+\\\\dQE^$)]{0,6}".prop_map(Value::from)].boxed()),
        1 => named("enum", prop::collection::vec(scalar(), 0..3).prop_map(Value::from).boxed()),
        1 => named("required", Just(json!(["a"])).boxed()),
        1 => named("oneOf", many.clone()),
        1 => named("allOf", many),
        1 => named("not", inner),
        1 => named("x-kubernetes-list-type", prop::sample::select(&["set", "map", "atomic"][..]).prop_map(Value::from).boxed()),
        1 => named("x-kubernetes-list-map-keys", Just(json!(["a"])).boxed()),
        1 => named("x-kubernetes-validations", rule),
        2 => (prop::sample::select(flags.to_vec()), any::<bool>()).prop_map(|(k, v)| (k.to_owned(), v.into())),
        2 => (prop::sample::select(numbers.to_vec()), any::<i32>()).prop_map(|(k, v)| (k.to_owned(), v.into())),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::collection::vec(keyword(Just(json!({"type": "string"})).boxed()), 0..4).prop_map(gather);
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 0..5).prop_map(gather)
    })
}

fn gather(pairs: Vec<(String, Value)>) -> Value {
    Value::Object(pairs.into_iter().collect())
}

fn source() -> impl Strategy<Value = String> {
    let words = [
        "self",
        "oldSelf",
        ".",
        "a",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        ".?",
        "==",
        "<",
        "+",
        "-",
        "*",
        "/",
        "%",
        "&&",
        "||",
        "!",
        "in",
        "1",
        "0",
        "9223372036854775807",
        "1.5",
        "2u",
        "'x'",
        "'é'",
        "b'x'",
        "null",
        "true",
        "has(",
        ".all(x,",
        ".map(k, v,",
        ".size()",
        ".charAt(",
        "duration('1h')",
        "timestamp('9999-12-31T23:59:59Z')",
        "quantity(",
        "ip(",
        "cidr(",
        "semver(",
        "url(",
        ".format(",
        "lists.range(",
        ".slice(",
        ".sortBy(x,",
        "int(",
        "optional.none()",
        ".orValue(",
        ".optMap(x,",
        ".split(",
        "sign(",
        "sets.contains(",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..14).prop_map(|words| words.concat())
}

/// Returns whether the schema names all fields of the value. An object with other fields counts as changed by each
/// update.
fn declared(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().all(|(key, value)| {
            let child = schema.child(key);
            child.is_some_and(|child| declared(child, value))
        }),
        Value::Array(list) => {
            schema.items.as_deref().is_none_or(|items| list.iter().all(|item| declared(items, item)))
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn objects_and_schemas(source in schema(), mut new in object(), old in object()) {
        let Ok(schema) = CompiledSchema::parse(&source) else { return Ok(()) };
        if schema::coerce(&schema, &mut new).is_ok() {
            let removed = schema::prune(&schema, &mut new.clone());
            prop_assert!(removed.is_empty(), "nothing unknown is left: {removed:?}");
            schema::default(&schema, &mut new);
            let again = { let mut again = new.clone(); schema::default(&schema, &mut again); again };
            prop_assert_eq!(&again, &new, "defaults are complete after one pass");
            schema.validate(&new, None, Vec::new(), Known::default());
            schema.validate_status(&new, Some(&old), Vec::new(), Known::default());
            schema.validate(&new, Some(&old), Vec::new(), Known::default());
            let errors = schema::validate_values(&schema, &new, Some(&new));
            let excused = errors.is_empty() || !declared(&schema, &new);
            prop_assert!(excused, "what does not change is not reported: {errors:?}");
        }
    }

    #[test]
    fn definitions(source in schema(), junk in object()) {
        let mut object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.test"},
            "spec": {"group": "example.test", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": source}}],
                "conversion": junk},
        });
        if crd::decode(&mut object).is_ok() {
            crd::default(&mut object);
            crd::prepare_for_create(&mut object);
            crd::validate(&object);
            crd::validate_update(&object, &junk);
            crd::accept_names(&mut object, &crd::Taken::default(), "2020-01-01T00:00:00Z");
        }
    }

    #[test]
    fn rules(source in source(), value in object()) {
        let rule = Rule { rule: source, ..Rule::default() };
        let mut schema = Schema { rules: vec![rule.clone()], has_rules: true, ..Schema::default() };
        cel::problems(&schema, &rule, true);
        Rules::of(&schema).validate(&schema, &value, Some(&value), Known::default());
        schema.kind = Some(schema::Kind::Object);
        cel::problems(&schema, &rule, false);
    }
}
