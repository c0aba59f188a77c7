//! The cost of rules, with the numbers that the tests of kube-apiserver expect (`compilation_test.go` and
//! `celcoststability_test.go` of apiextensions-apiserver).

use cel::limits::{MAX_CEL_CALL_COST, MAX_CEL_OBJECT_COST};
use machinery::schema::{Rule, Schema};
use serde_json::{Value, json};

use crate::cel::validate;

fn estimate(schema: &Value, rule: &str) -> u64 {
    let schema = Schema::parse(schema).unwrap();
    let rule = Rule { rule: rule.to_owned(), ..Rule::default() };
    let (problems, costs) = cel::problems(&schema, &rule, false);
    assert_eq!(problems, [], "{}", rule.rule);
    costs.rule
}

fn typed(kind: &str) -> Value {
    match kind {
        "int-or-string" => json!({"x-kubernetes-int-or-string": true}),
        "date" | "date-time" | "duration" => json!({"type": "string", "format": kind}),
        "byte" => json!({"type": "string", "format": "byte"}),
        kind => json!({"type": kind}),
    }
}

fn list(items: Value, max: Option<u64>) -> Value {
    let mut schema = json!({"type": "array", "items": items});
    if let Some(max) = max {
        schema["maxItems"] = max.into();
    }
    schema
}

fn map(values: Value, max: Option<u64>) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": values});
    if let Some(max) = max {
        schema["maxProperties"] = max.into();
    }
    schema
}

fn text(kind: &str, max: Option<u64>) -> Value {
    let mut schema = typed(kind);
    if let Some(max) = max {
        schema["maxLength"] = max.into();
    }
    schema
}

#[test]
fn estimates_of_lists() {
    let all = "self.all(x, true)";
    for (items, rule, max, wanted) in [
        (typed("number"), all, None, 4_718_591),
        (typed("number"), all, Some(10), 32),
        (typed("string"), all, None, 3_145_727),
        (typed("string"), all, Some(20), 62),
        (typed("boolean"), all, None, 1_887_437),
        (typed("boolean"), all, Some(5), 17),
        (typed("duration"), all, None, 2_359_295),
        (typed("date"), all, None, 725_936),
        (typed("date-time"), all, None, 428_963),
        (typed("int-or-string"), all, None, 4_718_591),
        (list(typed("number"), None), all, None, 3_145_727),
        (typed("number"), "self[1] == 0.0", None, 2),
        (typed("string"), "self[1] == self[1]", None, 314_577),
        (typed("number"), "self.all(x, self.all(y, true))", Some(10), 352),
        (typed("number"), "self.all(x, self.all(y, self.all(z, true)))", Some(10), 3552),
        (typed("number"), "self.all(x, x == 0.0)", None, 6_291_454),
        (typed("int-or-string"), "self[0] == 5", None, 3),
        (typed("boolean"), "self[0] == false", None, 2),
        (list(typed("number"), None), "self[0][0] == -1.0", None, 3),
        (map(typed("number"), None), "self.all(x, x.y == 25.2)", None, 6_291_452),
        (map(typed("number"), None), "self[0].x > 2.0", None, 4),
        (typed("duration"), "self[0].getHours() == 2", None, 4),
        (typed("date-time"), "self[2].getMinutes() == 45", None, 4),
    ] {
        assert_eq!(estimate(&list(items.clone(), max), rule), wanted, "{rule} on a list of {items}, {max:?}");
    }
    let object = json!({"type": "object", "required": ["required"], "properties": {
        "required": {"type": "string"}, "optional": {"type": "string"}}});
    let rule = "self.all(x, x[\"y\"].required == \"z\")";
    assert_eq!(estimate(&list(map(object.clone(), None), None), rule), 7_340_027);
    assert_eq!(estimate(&list(map(object, None), Some(10)), rule), 72);
    assert!(estimate(&list(typed("number"), None), "self.all(x, self.all(y, true))") > 10_000_000);
}

#[test]
fn estimates_of_maps_and_texts() {
    let all = "self.all(x, true)";
    for (values, rule, max, wanted) in [
        (typed("number"), all, None, 1_348_169),
        (typed("number"), all, Some(10), 32),
        (typed("string"), all, None, 1_179_647),
        (typed("boolean"), all, None, 943_718),
        (typed("duration"), all, None, 1_048_577),
        (typed("int-or-string"), all, None, 1_348_169),
        (map(typed("number"), None), all, None, 1_179_647),
        (list(typed("number"), None), all, None, 1_179_647),
        (typed("string"), "self.all(x, x.contains(self[x]))", None, 2_752_507),
        (typed("string"), "self.all(x, x.contains(self[x]))", Some(10), 72),
        (typed("number"), "self[\"x\"] == 0.0", Some(0), 2),
    ] {
        assert_eq!(estimate(&map(values.clone(), max), rule), wanted, "{rule} on a map of {values}, {max:?}");
    }
    for (rule, max, wanted) in [
        ("self.contains('test')", None, 314_574),
        ("self.contains('test')", Some(10), 5),
        ("self.startsWith('test')", None, 2),
        ("self.endsWith('test')", Some(30), 2),
        ("size(self + \"hello\") > size(\"hello\")", None, 314_578),
        ("size(self + \"hello\") > size(\"hello\")", Some(4), 7),
        ("self.matches(\"x\")", None, 314_574),
        ("self.matches(\"x\")", Some(50), 22),
        ("\"\".matches(\"(((((((((())))))))))[0-9]\")", None, 7),
        ("self.matches(\"\")", None, 1),
        ("self == \"x\"", None, 2),
        ("self == \"x\"", Some(0), 1),
    ] {
        assert_eq!(estimate(&text("string", max), rule), wanted, "{rule}, {max:?}");
    }
    assert_eq!(estimate(&text("byte", None), "self == b\"x\""), 2);
    assert_eq!(estimate(&text("byte", Some(0)), "self == b\"x\""), 1);
}

fn cost(schema: &Value, value: &Value, rule: &str) -> u64 {
    let mut schema = schema.clone();
    schema["x-kubernetes-validations"] = json!([{"rule": rule}]);
    let schema = Schema::parse(&schema).unwrap();
    let before = cel::spent();
    let found = validate(&schema, value, None);
    assert_eq!(found, [], "{rule}");
    cel::spent() - before
}

#[test]
fn costs_at_run_time() {
    let integer = typed("integer");
    let strings = list(typed("string"), None);
    let schema = json!({"type": "object", "properties": {
        "n": integer, "m": integer, "text": typed("string"), "list": list(typed("integer"), None),
        "strings": strings, "val": map(typed("integer"), None),
        "listMap": list(json!({"type": "object", "properties": {
            "k": typed("string"), "v": typed("string"), "v2": typed("string")}}), None)}});
    let value = json!({"n": 7, "m": 7, "text": "Rook takes 👑", "list": [1, 2, 3], "strings": ["a", "b", "c"],
        "val": {"b": 1, "d": 2},
        "listMap": [{"k": "a1", "v": "b1"}, {"k": "a2", "v": "b2"}, {"k": "a3", "v": "b3", "v2": "z"}]});
    for (rule, wanted) in [
        ("self.n == self.m", 5),
        ("type(self.n) == int", 4),
        ("double(5) < 10.0", 1),
        ("self.n == 7", 3),
        ("self.text.startsWith('Rook')", 4),
        ("!self.text.startsWith('knight')", 5),
        ("self.text.matches('^[^0-9]*$')", 8),
        ("matches(self.text, '^[^0-9]*$')", 3),
        ("size(self.text) == 12", 4),
        ("self.text.substring(5) == 'takes 👑'", 5),
        ("self.text in ['Rook takes 👑', 'x']", 2),
        ("1 in self.list", 5),
        ("self.list[0] in self.list", 8),
        ("self.list + self.list == [1, 2, 3, 1, 2, 3]", 6),
        ("self.list + [4, 5] == [1, 2, 3, 4, 5]", 4),
        ("'b' in self.val", 3),
        ("!has(self.val.a)", 3),
        ("has(self.val.b)", 2),
        ("self.val.all(k, self.val[k] > 0)", 17),
        ("self.val.exists_one(k, self.val[k] == 2)", 14),
        ("!self.val.exists_one(k, self.val[k] > 0)", 17),
        ("size(self.val.filter(k, self.val[k] > 1)) == 1", 26),
        ("self.listMap.all(m, m.k.startsWith('a'))", 21),
        ("self.listMap.all(m, !has(m.v2) || m.v2 == 'z')", 21),
        ("self.listMap.exists(m, m.k.endsWith('1'))", 13),
        ("self.listMap.exists_one(m, m.k == 'a3')", 15),
        ("!self.listMap.all(m, m.k.endsWith('1'))", 18),
        ("!self.listMap.exists(m, m.v == 'x')", 25),
        ("size(self.listMap.filter(m, m.k == 'a1')) == 1", 27),
        ("self.listMap.exists(m, m.k == 'a1' && m.v == 'b1')", 16),
        ("self.listMap.map(m, m.v).exists(v, v == 'b1')", 55),
        ("self.listMap.exists(m, has(m.v2) && m.v2 == 'z')", 21),
    ] {
        assert_eq!(cost(&schema, &value, rule), wanted, "{rule}");
    }
}

#[test]
fn limits_stop_rules() {
    let rule = json!({"rule": "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))", "message": "never"});
    let schema = |rules: Value| {
        let mut schema = list(typed("integer"), None);
        schema["x-kubernetes-validations"] = rules;
        Schema::parse(&schema).unwrap()
    };
    let numbers = |count: usize| Value::from((0..count).collect::<Vec<_>>());
    let said = |schema: &Schema, value: &Value| -> Vec<String> {
        let errors = validate(schema, value, None);
        errors.iter().map(|error| error.body()).collect()
    };
    // The loop takes about 12 units for each of its n^3 steps, so 40 items fit and 60 do not.
    assert_eq!(said(&schema(json!([rule])), &numbers(40)), Vec::<String>::new());
    let before = cel::spent();
    assert_eq!(
        said(&schema(json!([rule, {"rule": "false"}])), &numbers(60)),
        [
            "Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be \
             run due to call cost exceeds limit for rule: never"
        ]
    );
    assert!(cel::spent() - before < MAX_CEL_CALL_COST + 100);
    // Each rule fits into the budget, but not all of them together.
    let many: Vec<Value> = (0..20).map(|_| rule.clone()).collect();
    let before = cel::spent();
    assert_eq!(
        said(&schema(Value::from(many)), &numbers(40)),
        [
            "Invalid value: \"array\": validation failed due to running out of cost budget, no further validation rules will \
             be run"
        ]
    );
    assert!(cel::spent() - before < MAX_CEL_OBJECT_COST + MAX_CEL_CALL_COST);
}

/// kube-apiserver estimates the form with a receiver only.
#[test]
fn the_global_form_of_matches_costs_one() {
    let schema = text("string", Some(300));
    assert_eq!(estimate(&schema, "matches(self, '^/(api/)?v[0-9]+/{0,1}$')"), 2);
    assert!(estimate(&schema, "self.matches('^/(api/)?v[0-9]+/{0,1}$')") > 100);
}
