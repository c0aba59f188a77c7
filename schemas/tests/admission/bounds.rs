//! Classes and Clusters that would make much more work than they have bytes. Whoever writes a class writes its schemas and rules, so what a class and its Clusters make of
//! each other is bounded for all variables together.

use machinery::field::FieldError;
use machinery::limits::MAX_DEFAULTS_SIZE;
use schemas::cluster::{ClusterClassVariable, Topology};
use schemas::naming;
use schemas::variables::{check_definitions, default_and_check, inline_definitions};
use serde::Deserialize;
use serde_json::{Value, json};

fn definition(name: &str, schema: Value) -> ClusterClassVariable {
    let definition = json!({ "name": name, "required": false, "schema": { "openAPIV3Schema": schema } });
    ClusterClassVariable::deserialize(&definition).unwrap()
}

fn check(definitions: &[ClusterClassVariable], values: &[(&str, Value)]) -> Result<(), Vec<FieldError>> {
    let variables: Value =
        values.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let mut topology = Topology::deserialize(&json!({ "variables": variables })).unwrap();
    default_and_check(&mut topology, None, &inline_definitions(definitions))
}

/// A list whose empty items get a text of so many bytes.
fn list(bytes: usize) -> Value {
    let text = json!({ "type": "string", "default": "x".repeat(bytes) });
    json!({ "type": "array", "items": { "type": "object", "properties": { "text": text } } })
}

fn items(count: usize) -> Value {
    vec![json!({}); count].into()
}

#[test]
fn defaults_of_many_items_are_bounded() {
    let bytes = 10_000;
    let fits = MAX_DEFAULTS_SIZE / (bytes + 16);
    let (one, two) = (definition("one", list(bytes)), definition("two", list(bytes)));
    assert_eq!(check(std::slice::from_ref(&one), &[("one", items(fits))]), Ok(()));
    let errors = check(std::slice::from_ref(&one), &[("one", items(fits + 20))]).unwrap_err();
    assert_eq!(errors[0].field, "spec.topology.variables[one]");
    assert!(errors[0].detail.contains("larger than 3145728 bytes"), "{}", errors[0]);
    // Each of them would fit.
    let both = [("one", items(fits / 2 + 20)), ("two", items(fits / 2 + 20))];
    assert_eq!(check(&[one, two], &both).unwrap_err()[0].field, "spec.topology.variables[two]");
}

#[test]
fn defaults_in_a_default_are_bounded() {
    let with_default = |count: usize| {
        let mut schema = list(10_000);
        schema["default"] = items(count);
        check_definitions(&[definition("list", schema)], "spec.variables")
    };
    assert_eq!(with_default(100), []);
    let errors = with_default(1000);
    assert_eq!(errors[0].field, "spec.variables[list].schema.openAPIV3Schema.default");
    assert!(errors[0].detail.contains("larger than 3145728 bytes"), "{}", errors[0]);
}

/// A rule that takes about ten thousand steps for a list of ten numbers, and less than a tenth of what one rule may cost.
fn costly() -> Value {
    let rule = "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))";
    json!({ "type": "array", "maxItems": 10, "items": { "type": "integer" }, "x-kubernetes-validations": [{ "rule": rule }] })
}

#[test]
fn the_rules_of_all_variables_together_have_a_cost() {
    let numbers: Value = (0..10).collect();
    let checked = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("v{number}")).collect();
        let definitions: Vec<_> = names.iter().map(|name| definition(name, costly())).collect();
        let values: Vec<_> = names.iter().map(|name| (name.as_str(), numbers.clone())).collect();
        (check_definitions(&definitions, "spec.variables"), check(&definitions, &values))
    };
    assert_eq!(checked(10), (Vec::new(), Ok(())));
    let before = cel::spent();
    let errors = checked(1000).1.unwrap_err();
    assert!(errors[0].detail.contains("running out of cost budget"), "{}", errors[0]);
    let most = cel::limits::MAX_CEL_OBJECT_COST + cel::limits::MAX_CEL_CALL_COST;
    assert!(cel::spent() - before <= most, "no rule is evaluated any more: {}", cel::spent() - before);
}

#[test]
fn the_rules_over_all_examples_together_have_a_cost() {
    let mut schema = costly();
    schema["enum"] = (0..50).map(|number| json!([number, 1, 2, 3, 4, 5, 6, 7, 8, 9])).collect();
    let definitions: Vec<_> =
        (0..20).map(|number| definition(&format!("v{number}"), schema.clone())).collect();
    assert_eq!(check_definitions(&definitions[..1], "spec.variables"), []);
    let errors = check_definitions(&definitions, "spec.variables");
    assert!(errors.iter().any(|error| error.detail.contains("running out of cost budget")), "{errors:?}");
}

#[test]
fn the_patterns_of_all_variables_together_have_a_size() {
    let with_pattern = |number: usize| {
        let pattern = format!("^{}{number}$", "a{1000}".repeat(40));
        definition(&format!("v{number}"), json!({ "type": "string", "pattern": pattern }))
    };
    let few: Vec<_> = (0..2).map(with_pattern).collect();
    assert_eq!(check_definitions(&few, "spec.variables"), []);
    let many: Vec<_> = (0..100).map(with_pattern).collect();
    let errors = check_definitions(&many, "spec.variables");
    assert!(errors.iter().any(|error| error.field.ends_with(".pattern")), "{errors:?}");
}

#[test]
fn the_template_of_a_name_makes_a_bounded_work() {
    let values: &naming::Values<'_> = &[("cluster.name", "c"), ("random", "x7k2p")];
    let loops = |count: usize| format!("{{{{ range {count} }}}}{{{{ end }}}}{{{{ .random }}}}");
    assert_eq!(naming::render(&loops(100), values), Ok("x7k2p".to_owned()));
    let doubled = "{{ $s := .random }}{{ range 22 }}{{ $s = print $s $s }}{{ end }}{{ len $s }}".to_owned();
    for text in [loops(100_000), doubled] {
        let error = naming::render(&text, values).unwrap_err();
        assert!(error.contains("steps"), "{error}");
    }
}
