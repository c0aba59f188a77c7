//! Tests that the validation of definitions and objects is linear in the input, or limited by a budget.

use apiextensions::{CompiledSchema, crd};
use cel::Known;
use machinery::limits::MAX_DECODE_PROBLEMS;
use serde_json::{Map, Value, json};

const MANY: usize = 20_000;

#[test]
fn unknown_fields_are_written_down_up_to_a_limit() {
    let fields: Map<_, _> = (0..MANY).map(|number| (format!("f{number}"), json!(1))).collect();
    let mut definition = json!({"spec": fields});
    assert_eq!(crd::decode(&mut definition).unwrap().len(), MAX_DECODE_PROBLEMS);
}

#[test]
fn items_of_long_lists_are_looked_up() {
    let items: Vec<Value> =
        (0..MANY).map(|number| json!({"name": format!("n{number}"), "value": "x"})).collect();
    let source = json!({"type": "object", "properties": {"list": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object",
            "x-kubernetes-validations": [{"rule": "self.value != oldSelf.value"}],
            "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}}}});
    let schema = CompiledSchema::parse(&source).unwrap();
    let old = json!({"list": items});
    let mut new = old.clone();
    new["list"].as_array_mut().unwrap().reverse();
    for item in new["list"].as_array_mut().unwrap() {
        item["value"] = "y".into();
    }
    assert_eq!(schema.validate(&new, Some(&old), Vec::new(), Known::default()), []);
}

/// A rule without any cost still counts against the budget.
#[test]
fn cheap_rules_are_counted() {
    let rules = vec![json!({"rule": "true"}); 500];
    let source = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": rules}}}});
    let schema = CompiledSchema::parse(&source).unwrap();
    let errors = schema.validate(&json!({"l": vec![1; 100_000]}), None, Vec::new(), Known::default());
    assert!(errors[0].detail.contains("running out of cost budget"), "{errors:?}");
}

#[test]
fn patterns_are_counted() {
    let definition = |patterns: Vec<String>| {
        let properties = patterns.into_iter().enumerate();
        let properties: Map<String, Value> = properties
            .map(|(number, pattern)| (format!("p{number}"), json!({"type": "string", "pattern": pattern})))
            .collect();
        let mut object = json!({"metadata": {"name": "things.example.test"}, "spec": {"group": "example.test", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}]}});
        crd::decode(&mut object).unwrap();
        crd::default(&mut object);
        let errors = crd::validate(&object);
        errors.into_iter().filter(|error| error.field.ends_with("pattern")).collect::<Vec<_>>()
    };
    let usual =
        (0..300).map(|number| format!("^[a-z0-9]([-a-z0-9]{{0,61}}[a-z0-9])?(\\.x{number})*$")).collect();
    assert_eq!(definition(usual), []);
    let heavy = (0..3_000).map(|number| format!("(\\pL{{50}}|x{number}){{4}}")).collect();
    let errors = definition(heavy);
    assert!(
        errors.len() > 2_000 && errors[0].detail.contains("expression too large"),
        "{:?}",
        errors.first()
    );
    assert_eq!(definition(vec!["((a{1000}){1000}){1000}".to_owned(), "(".repeat(1_000_000)]).len(), 2);
}
