//! Tests of `conformance::normalise`.

use std::collections::BTreeMap;

use conformance::model::Response;
use conformance::normalise::{Fresh, case};
use machinery::clock::parse_rfc3339;
use serde_json::{Value, json};

fn fresh(body: Value) -> Fresh {
    let response = Response { code: 200, body, ..Response::default() };
    Fresh { response, collection: false, query: BTreeMap::new() }
}

fn normal(literal: &str, bodies: &[Value]) -> Vec<Value> {
    let answers: Vec<Fresh> = bodies.iter().cloned().map(fresh).collect();
    let now = parse_rfc3339("2026-03-01T12:00:00Z").unwrap_or_default();
    case("ns1", literal, now, &answers).into_iter().map(|response| response.body).collect()
}

#[test]
fn resource_versions_keep_their_order() {
    let object = |version: &str| json!({"metadata": {"resourceVersion": version}});
    let out = normal("", &[object("100"), object("9"), object("100")]);
    assert_eq!(out, [object("<rv:2>"), object("<rv:1>"), object("<rv:2>")]);
}

#[test]
fn a_list_must_not_be_older_than_what_was_seen() {
    let list =
        |version: &str| json!({"kind": "XList", "items": [], "metadata": {"resourceVersion": version}});
    let object = json!({"metadata": {"resourceVersion": "5"}});
    let out = normal("", &[object, list("5"), list("4")]);
    assert_eq!(out[1], list("<rv:list>"));
    assert_eq!(out[2], list("<rv:older-list>"));
}

#[test]
fn what_a_request_says_stays() {
    let uid = "11111111-2222-3333-4444-555555555555";
    let literal = format!("{uid} 2026-03-01T11:00:00Z");
    let cases = [
        (uid, uid),
        ("21111111-2222-3333-4444-555555555555", "<uid:1>"),
        ("2026-03-01T11:00:00Z", "2026-03-01T11:00:00Z"),
        ("2026-03-01T11:00:01Z", "<time>"),
        ("2026-03-01T11:00:01.000001Z", "<microtime>"),
        ("2020-03-01T11:00:01Z", "2020-03-01T11:00:01Z"),
        ("in ns1", "in <ns>"),
    ];
    for (given, expected) in cases {
        assert_eq!(normal(&literal, &[json!(given)]), [json!(expected)], "{given}");
    }
}

#[test]
fn generated_names_are_numbered() {
    let given = json!({"metadata": {"generateName": "a-", "name": "a-bcdfg"}, "text": "a-bcdfg a-zzzzz"});
    let expected = json!({"metadata": {"generateName": "a-", "name": "a-<suffix:1>"}, "text": "a-<suffix:1> a-<suffix>"});
    assert_eq!(normal(r#"{"generateName":"a-"}"#, &[given]), [expected]);
}

#[test]
fn ages_are_replaced_in_tables() {
    let table = |age: &str| {
        json!({
            "kind": "Table",
            "columnDefinitions": [{"name": "Name"}, {"name": "Age"}],
            "rows": [{"cells": ["5s", age]}],
        })
    };
    assert_eq!(normal("", &[table("3m2s")]), [table("<age>")]);
}
