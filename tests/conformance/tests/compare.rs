//! Tests of `conformance::compare`.

use conformance::compare::answers;
use conformance::model::{Compare, Response};
use serde_json::{Value, json};

fn ok(body: Value) -> Response {
    Response { code: 200, body, ..Response::default() }
}

#[test]
fn bodies_are_compared_field_by_field() {
    let managed = |names: &[&str]| {
        let entries: Vec<Value> = names.iter().map(|name| json!({"manager": name})).collect();
        json!({"metadata": {"managedFields": entries}})
    };
    let cases = [
        (json!({"a": 1}), json!({"a": 1}), vec![]),
        (json!({"a": 1}), json!({"a": 2}), vec!["different a"]),
        (json!({"a": 1}), json!({"a": 1.0}), vec!["different a"]),
        (json!({"a.b": 1}), json!({}), vec![r"missing a\.b"]),
        (json!({}), json!({"a": [1]}), vec!["extra a"]),
        (json!({"a": [1, 2]}), json!({"a": [1]}), vec!["missing a[1]"]),
        (json!({"a": "<any>"}), json!({"a": "words"}), vec![]),
        (json!({"a": "<any>"}), json!({"a": 1}), vec!["different a"]),
        (managed(&["x", "y"]), managed(&["y", "x"]), vec![]),
        (
            managed(&["x"]),
            managed(&["y"]),
            vec!["missing metadata.managedFields[x/]", "extra metadata.managedFields[y/]"],
        ),
    ];
    for (want, got, expected) in cases {
        let found: Vec<String> = answers(None, &ok(want.clone()), &ok(got.clone()))
            .iter()
            .map(|difference| format!("{} {}", difference.what, difference.path))
            .collect();
        assert_eq!(found, expected, "{want} {got}");
    }
}

#[test]
fn causes_are_a_set() {
    let refusal = |fields: [&str; 2]| {
        let causes = fields.map(|field| json!({"field": field, "message": "bad"}));
        let message = format!("x is invalid: [{}: bad, {}: bad]", fields[0], fields[1]);
        let body = json!({"kind": "Status", "message": message, "details": {"causes": causes}});
        Response { code: 422, body, ..Response::default() }
    };
    assert_eq!(answers(None, &refusal(["a", "b"]), &refusal(["b", "a"])), []);
    assert_ne!(answers(None, &refusal(["a", "b"]), &refusal(["a", "c"])), []);
}

#[test]
fn loose_steps_compare_code_and_reason() {
    let answer =
        |reason: &str, message: &str| ok(json!({"kind": "Status", "reason": reason, "message": message}));
    let loose = Compare { message: "loose".into(), ..Compare::default() };
    assert_eq!(answers(Some(&loose), &answer("A", "x"), &answer("A", "y")), []);
    assert_eq!(answers(Some(&loose), &answer("A", "x"), &answer("B", "x")).len(), 1);
    assert_eq!(answers(None, &answer("A", "x"), &answer("A", "y")).len(), 1);
}
