//! Tests of the variables of ClusterClasses.

use machinery::field::FieldError;
use schemas::cluster::{ClusterClassVariable, Topology};
use schemas::variables::{check_definitions, default_and_check, inline_definitions};
use serde::Deserialize;
use serde_json::{Value, json};

use super::summary;

fn definition(name: &str, schema: Value) -> ClusterClassVariable {
    let definition = json!({ "name": name, "required": false, "schema": { "openAPIV3Schema": schema } });
    ClusterClassVariable::deserialize(&definition).unwrap()
}

fn found(errors: Vec<FieldError>) -> Vec<String> {
    summary(if errors.is_empty() { Ok(Vec::new()) } else { Err(errors) })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    )
}

/// A row: name, and name and schema of a variable, and the expected errors, where `{schema}` is the path of the schema.
type Definition<'a> = (&'a str, &'a str, Value, &'a [&'a str]);

fn defined(cases: &[Definition<'_>]) {
    let schema = "schema.openAPIV3Schema";
    for (case, name, definition_schema, expected) in cases {
        let field = format!("spec.variables[{name}]");
        let expected: Vec<String> =
            expected.iter().map(|error| format!("{field}.{}", error.replace("{schema}", schema))).collect();
        let errors = check_definitions(&[definition(name, definition_schema.clone())], "spec.variables");
        let details: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(found(errors), expected, "{case}: {details:#?}");
    }
}

#[test]
fn definitions() {
    let cases: &[Definition<'_>] = &[
        ("text", "v", json!({ "type": "string", "default": "a", "enum": ["a", "b"], "example": "b" }), &[]),
        ("int or string", "v", json!({ "x-kubernetes-int-or-string": true }), &[]),
        (
            "unknown fields are kept",
            "v",
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            &[],
        ),
        (
            "unknown fields are not kept",
            "v",
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false }),
            &[],
        ),
        ("reserved", "builtin", json!({ "type": "string" }), &["name: Invalid"]),
        ("dot", "a.b", json!({ "type": "string" }), &["name: Invalid"]),
        ("no name", "", json!({ "type": "string" }), &["name: Required"]),
        ("no type", "v", json!({}), &["{schema}.type: Required"]),
        ("no such type", "v", json!({ "type": "int" }), &["{schema}.type: NotSupported"]),
        ("no items", "v", json!({ "type": "array" }), &["{schema}.items: Required"]),
        (
            "type in a junctor",
            "v",
            json!({ "type": "string", "anyOf": [{ "type": "string" }] }),
            &["{schema}.anyOf[0].type: Forbidden"],
        ),
        ("pattern", "v", json!({ "type": "string", "pattern": "(" }), &["{schema}.pattern: Invalid"]),
        (
            "default of another type",
            "v",
            json!({ "type": "integer", "default": "x" }),
            &["{schema}.default: TypeInvalid"],
        ),
        (
            "default too large",
            "v",
            json!({ "type": "integer", "maximum": 3, "default": 4 }),
            &["{schema}.default: Invalid"],
        ),
        (
            "default with an unknown field",
            "v",
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "default": { "b": 1 } }),
            &["{schema}.default: Invalid"],
        ),
        (
            "default inside",
            "v",
            json!({ "type": "object", "properties": { "a": { "type": "boolean", "default": "x" } } }),
            &["{schema}.properties[a].default: TypeInvalid"],
        ),
        ("example", "v", json!({ "type": "integer", "example": "x" }), &["{schema}.example: TypeInvalid"]),
        (
            "possible value inside",
            "v",
            json!({ "type": "array", "items": { "type": "integer", "enum": [1, 2.5] } }),
            &["{schema}.items.enum[1]: TypeInvalid", "{schema}.items.enum[1]: Invalid"],
        ),
        (
            "metadata inside",
            "v",
            json!({ "type": "object", "properties": { "a": { "type": "string", "x-metadata": { "labels": { "a b": "c" } } } } }),
            &["{schema}.properties[a].x-metadata.labels: Invalid"],
        ),
        (
            "unknown keywords are ignored",
            "v",
            json!({ "type": "object", "properties": { "a": { "type": "string", "nullable": true, "$ref": "x" } } }),
            &[],
        ),
        ("levels", "v", nested(60), &[]),
        ("too many levels", "v", nested(120), &["{schema}: Invalid"]),
        ("a thousand levels", "v", nested(1000), &["{schema}: Invalid"]),
    ];
    defined(cases);
    let twice = [definition("a", json!({ "type": "string" })), definition("a", json!({ "type": "string" }))];
    assert_eq!(found(check_definitions(&twice, "spec.variables")), ["spec.variables[a].name: Invalid"]);
}

#[test]
fn rules_of_definitions() {
    let rule = |rule: &str| json!({ "type": "string", "x-kubernetes-validations": [{ "rule": rule }] });
    let costly = json!({ "type": "array", "items": { "type": "array", "items": { "type": "string" } },
        "x-kubernetes-validations": [{ "rule": "self.all(a, self.all(b, a.all(c, b.all(d, c.contains(d)))))" }] });
    let items = json!({ "type": "array", "maxItems": 3, "items": { "type": "integer",
        "x-kubernetes-validations": [{ "rule": "self >= oldSelf" }] } });
    let cases: &[Definition<'_>] = &[
        ("rule", "v", rule("self.startsWith('a')"), &[]),
        (
            "rule about nothing",
            "v",
            rule("self.a == 1"),
            &["{schema}.x-kubernetes-validations[0].rule: Invalid"],
        ),
        ("rule that is none", "v", rule("self =="), &["{schema}.x-kubernetes-validations[0].rule: Invalid"]),
        (
            "rule that is too costly",
            "v",
            costly,
            &[
                "{schema}.x-kubernetes-validations[0].rule: Forbidden",
                "{schema}.x-kubernetes-validations[0].rule: Forbidden",
                "{schema}: Forbidden",
            ],
        ),
        ("old items", "v", items, &["{schema}.items.x-kubernetes-validations[0].rule: Invalid"]),
        (
            "default against a rule",
            "v",
            json!({ "type": "string", "default": "b", "x-kubernetes-validations": [{ "rule": "self == 'a'" }] }),
            &["{schema}.default: Invalid"],
        ),
        (
            "example against a rule",
            "v",
            json!({ "type": "string", "example": "b", "x-kubernetes-validations": [{ "rule": "self == 'a'" }] }),
            &["{schema}.example: Invalid"],
        ),
        ("quantity", "v", rule("isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))"), &[]),
    ];
    defined(cases);
}

/// Sets defaults and checks a topology of a class with these definitions.
fn admitted(
    definitions: &[ClusterClassVariable],
    topology: &Value,
    old: Option<&Value>,
) -> Result<Value, Vec<String>> {
    let mut topology = Topology::deserialize(topology).unwrap();
    let old = old.map(|old| Topology::deserialize(old).unwrap());
    let outcome = default_and_check(&mut topology, old.as_ref(), &inline_definitions(definitions));
    outcome.map_err(found)?;
    Ok(serde_json::to_value(topology).unwrap())
}

fn values(pairs: &[(&str, Value)]) -> Value {
    pairs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

#[test]
fn defaults_come_after_what_is_set() {
    let object = json!({ "type": "object", "properties": {
        "size": { "type": "string", "default": "small" }, "count": { "type": "integer" } } });
    let mut whole = object.clone();
    whole["default"] = json!({ "count": 1 });
    let definitions = [
        definition("z", json!({ "type": "integer", "default": 0 })),
        definition("a", json!({ "type": "string", "default": "" })),
        definition("none", json!({ "type": "string" })),
        definition("object", object),
        definition("whole", whole),
    ];
    let part =
        |overrides: Value| json!({ "class": "c", "name": "md-0", "variables": { "overrides": overrides } });
    let topology = json!({
        "variables": values(&[("z", json!(5)), ("object", json!({}))]),
        "controlPlane": { "variables": { "overrides": values(&[("whole", json!({ "count": 3 }))]) } },
        "workers": {
            "machineDeployments": [{ "class": "c", "name": "other" }, part(values(&[("object", json!({ "count": 2 }))]))],
            "machinePools": [part(values(&[("a", json!(null))]))],
        },
    });
    let admitted_once = admitted(&definitions, &topology, None).unwrap();
    let expected = values(&[
        ("z", json!(5)),
        ("object", json!({ "size": "small" })),
        ("a", json!("")),
        ("whole", json!({ "count": 1, "size": "small" })),
    ]);
    assert_eq!(admitted_once["variables"], expected);
    let overrides = |path: &str| admitted_once.pointer(path).unwrap()["variables"]["overrides"].clone();
    assert_eq!(overrides("/controlPlane"), values(&[("whole", json!({ "count": 3, "size": "small" }))]));
    let workers = "/workers/machineDeployments/1";
    assert_eq!(overrides(workers), values(&[("object", json!({ "count": 2, "size": "small" }))]));
    assert_eq!(overrides("/workers/machinePools/0"), values(&[("a", json!(""))]));
    assert_eq!(
        admitted(&definitions, &admitted_once, Some(&topology)),
        Ok(admitted_once.clone()),
        "it stays as it is"
    );
}

#[test]
fn values_are_checked() {
    let rule = json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": "self >= oldSelf", "message": "only grows" }] });
    let strict = json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "b": { "type": "string" } } } } });
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let quantity = json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "isQuantity(self)" }] });
    let placed = json!({ "type": "object", "properties": { "a": { "type": "string" } },
        "x-kubernetes-validations": [{ "rule": "self.a != ''", "fieldPath": ".a", "reason": "FieldValueRequired" }] });
    let definitions = [
        definition("grows", rule),
        definition("strict", strict),
        definition("open", open),
        definition("quantity", quantity),
        definition("placed", placed),
        definition("number", json!({ "type": "number", "maximum": 10 })),
    ];
    let at = |rest: &str| format!("spec.topology.variables{rest}");
    type Case<'a> = (&'a str, &'a [(&'a str, Value)], &'a str);
    let cases: &[Case<'_>] = &[
        ("grows", &[("grows", json!(6))], ""),
        ("shrinks", &[("grows", json!(4))], "[grows].value: Invalid"),
        ("unknown field", &[("strict", json!({ "a": { "c": 1 } }))], "[strict]: Invalid"),
        ("unknown field that is kept", &[("open", json!({ "a": { "c": 1 } }))], ""),
        ("quantity", &[("quantity", json!("10Gi"))], ""),
        ("no quantity", &[("quantity", json!("10 GB"))], "[quantity].value: Invalid"),
        ("place of a rule", &[("placed", json!({ "a": "" }))], "[placed].value.a: Required"),
        ("number", &[("number", json!(2.5))], ""),
        ("beyond integers", &[("grows", json!(1e300))], "[grows].value: TypeInvalid"),
        ("unsigned", &[("grows", json!(u64::MAX))], "[grows].value: TypeInvalid"),
        ("null", &[("grows", json!(null))], "[grows].value: TypeInvalid"),
        ("unknown", &[("other", json!(1))], "[other]: Invalid"),
        ("twice", &[("number", json!(1)), ("number", json!(1))], "[number]: Invalid"),
    ];
    let old = json!({ "variables": values(&[("grows", json!(5))]) });
    for (name, set, expected) in cases {
        let answer = admitted(&definitions, &json!({ "variables": values(set) }), Some(&old)).err();
        let answer: Vec<String> = answer.unwrap_or_default();
        let first = answer.first().cloned().unwrap_or_default();
        let expected = if expected.is_empty() { String::new() } else { at(expected) };
        assert_eq!(first, expected, "{name}: {answer:?}");
    }
    let grown = json!({ "variables": values(&[("grows", json!(4))]) });
    assert!(admitted(&definitions, &grown, None).is_ok(), "there is nothing before a creation");
}

/// A refused value is shown, whatever its type.
#[test]
fn rules_show_the_value() {
    let rule = |kind: &str| {
        json!({ "type": kind, "x-kubernetes-preserve-unknown-fields": kind == "object",
        "x-kubernetes-validations": [{ "rule": "size(self) == 0", "message": "must be empty" }] })
    };
    let list = json!({ "type": "array", "items": { "type": "string" },
        "x-kubernetes-validations": [{ "rule": "size(self) == 0", "message": "must be empty" }] });
    let cases = [
        (list, json!(["a"]), r#""[\"a\"]""#),
        (rule("object"), json!({ "a": 1 }), r#""{\"a\":1}""#),
        (rule("string"), json!("a"), r#""\"a\"""#),
    ];
    for (schema, value, shown) in cases {
        let mut topology = Topology::deserialize(json!({ "variables": values(&[("v", value)]) })).unwrap();
        let definitions = [definition("v", schema)];
        let errors = default_and_check(&mut topology, None, &inline_definitions(&definitions)).unwrap_err();
        let expected = format!("spec.topology.variables[v].value: Invalid value: {shown}: must be empty");
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
}

/// A class can change after its Clusters were written; they then say what is wrong, although nothing changed in them.
#[test]
fn rules_over_unchanged_values_are_checked() {
    let strict = json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self == 'b'" }] });
    let topology = json!({ "variables": values(&[("a", json!("a"))]) });
    let answer = admitted(&[definition("a", strict)], &topology, Some(&topology));
    assert_eq!(answer, Err(vec!["spec.topology.variables[a].value: Invalid".to_owned()]));
}

#[test]
fn required_variables_are_those_of_the_cluster() {
    let mut must = definition("must", json!({ "type": "string" }));
    must.required = true;
    let mut has_default = definition("default", json!({ "type": "string", "default": "a" }));
    has_default.required = true;
    let part = json!({ "class": "c", "name": "md-0", "variables": { "overrides": values(&[("default", json!("b"))]) } });
    let topology = json!({ "workers": { "machineDeployments": [part] } });
    let answer = admitted(&[must, has_default], &topology, None);
    assert_eq!(answer, Err(vec!["spec.topology.variables: Required".to_owned()]));
}

#[test]
fn sources_that_differ_are_refused() {
    let mut definitions = inline_definitions(&[definition("a", json!({ "type": "string" }))]);
    definitions[0].definitions_conflict = Some(true);
    let mut topology = Topology::default();
    let errors = default_and_check(&mut topology, None, &definitions).unwrap_err();
    assert_eq!(errors[0].field, "spec.topology.variables");
    assert!(errors[0].detail.contains("conflicting definitions of the variable \"a\""), "{}", errors[0]);
    definitions[0].definitions.clear();
    assert!(default_and_check(&mut topology, None, &definitions).is_err());
}

/// Neither many variables nor large or deep ones cost more than they are long.
#[test]
fn input_of_any_size_is_bounded() {
    let names: Vec<String> = (0..10_000).map(|number| format!("v{number}")).collect();
    let definitions: Vec<_> =
        names.iter().map(|name| definition(name, json!({ "type": "integer", "default": 1 }))).collect();
    assert_eq!(check_definitions(&definitions, "spec.variables"), []);
    let all = admitted(&definitions, &json!({}), None).unwrap();
    assert_eq!(all["variables"].as_array().unwrap().len(), 10_000);
    let wrong: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), json!("x"))).collect();
    let errors = admitted(&definitions, &json!({ "variables": values(&wrong) }), None).unwrap_err();
    assert_eq!(errors.len(), machinery::limits::MAX_FIELD_ERRORS);

    let text = [definition("text", json!({ "type": "integer" }))];
    let large = json!({ "variables": values(&[("text", json!("ä".repeat(1 << 20)))]) });
    let mut topology = Topology::deserialize(&large).unwrap();
    let errors = default_and_check(&mut topology, None, &inline_definitions(&text)).unwrap_err();
    assert!(errors[0].to_string().len() < 2_000, "an error shows the beginning of a value");

    let slow = json!({ "type": "string", "x-kubernetes-validations": [
        { "rule": "self.matches('^(a+)+$')" }, { "rule": "self.split('').size() < 10000000" }] });
    let long = json!({ "variables": values(&[("slow", json!("a".repeat(1 << 20)))]) });
    let _ = admitted(&[definition("slow", slow)], &long, None);
}
