//! What the schema of a custom resource does with unusual values: formats by type, numbers, defaults, and nulls.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use registry::{Input, PatchBody, Registry, Served, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, context, definition, version};

/// Returns a resource whose `spec` has this schema.
async fn with_spec(schema: Value) -> (Registry, Served) {
    let (registry, _) = common::registry().await;
    let schema = json!({"type": "object", "properties": {"spec": schema}});
    let served = common::serve(&registry, &definition("notes", json!([version("v1", true, schema)]))).await;
    (registry, served)
}

fn note(spec: &Value) -> Value {
    json!({"apiVersion": "test.example.com/v1", "kind": "Note", "metadata": {"name": "a"}, "spec": spec})
}

/// Returns the created `spec`, or the errors of its fields.
async fn create(schema: Value, spec: Value) -> Result<Value, String> {
    let (registry, served) = with_spec(schema).await;
    match registry.create(&mut context(), &served, "default", Input::new(note(&spec))).await {
        Ok(written) => Ok(serde_json::from_slice::<Value>(&written.object).unwrap()["spec"].clone()),
        Err(status) => {
            let (_, errors) = status.message.split_once("is invalid: ").unwrap_or(("", &status.message));
            Err(errors.to_owned())
        }
    }
}

async fn refusal(schema: Value, spec: Value) -> String {
    create(schema, spec).await.unwrap_err()
}

#[tokio::test]
async fn a_format_that_its_type_does_not_have_counts_as_absent() {
    let list = r#"spec: Invalid value: "array": spec in body must be of type string: "array""#;
    for format in ["int32", "int64", "float", "double"] {
        assert_eq!(refusal(json!({"type": "string", "format": format}), json!([1])).await, list);
        assert_eq!(refusal(json!({"type": "string", "format": format}), json!([])).await, list);
        let integer = r#"spec: Invalid value: "integer": spec in body must be of type string: "integer""#;
        assert_eq!(refusal(json!({"type": "string", "format": format}), json!(1)).await, integer);
    }
    // A list has every format that strings can have, as in the real server.
    create(json!({"type": "string", "format": "email"}), json!([1])).await.unwrap();
    let integer = r#"spec: Invalid value: "int64": spec in body must be of type email: "int64""#;
    assert_eq!(refusal(json!({"type": "string", "format": "email"}), json!(1)).await, integer);
    let wide = json!(3_000_000_000_i64);
    assert!(
        refusal(json!({"type": "integer", "format": "int32"}), wide.clone()).await.contains("format int32")
    );
    for schema in [
        json!({"type": "integer", "format": "uint32"}),
        json!({"type": "number", "format": "int32"}),
        json!({"x-kubernetes-int-or-string": true, "format": "int32"}),
    ] {
        create(schema, wide.clone()).await.unwrap();
    }
    create(json!({"type": "array", "format": "email", "items": {"type": "integer"}}), json!([1]))
        .await
        .unwrap();
}

#[tokio::test]
async fn numbers_are_compared_as_go_compares_them() {
    create(json!({"type": "number", "enum": [1, 2, 5]}), json!(1.5)).await.unwrap();
    create(json!({"type": "number", "enum": [1.5, 2.5]}), json!(1.5)).await.unwrap();
    let many: Vec<i64> = (0..100).collect();
    create(json!({"type": "number", "enum": many}), json!(99.9)).await.unwrap();
    assert!(
        refusal(json!({"type": "number", "enum": [1, 2, 5]}), json!(3.5))
            .await
            .contains("Unsupported value: 3.5")
    );
    let step = json!({"type": "integer", "multipleOf": 0.5});
    let problem =
        r#"<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in spec"#;
    assert_eq!(refusal(step, json!(4)).await, problem);
    let limits = json!({"type": "integer", "minimum": 4.5});
    let problem = r#"[<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in spec, spec: Invalid value: 4: spec in body should be greater than or equal to 4.5]"#;
    assert_eq!(refusal(limits, json!(4)).await, problem);
    let wide = json!({"type": "integer", "format": "int32", "maximum": 3_000_000_000_i64});
    let problem = r#"<nil>: Invalid value: "": Maximum boundary value must be of type integer with format int32 in spec"#;
    assert_eq!(refusal(wide, json!(4)).await, problem);
}

#[tokio::test]
async fn defaults_below_additional_properties_are_used_and_not_checked() {
    let entry = json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": 1},
        "b": {"type": "object", "properties": {"c": {"type": "string"}}, "default": {"c": "d", "unknown": "e"}}}});
    let map = json!({"type": "object", "additionalProperties": entry});
    assert_eq!(create(map, json!({"x": {}})).await.unwrap(), json!({"x": {"a": 1, "b": {"c": "d"}}}));
    let wrong = json!({"type": "object", "additionalProperties": {"type": "object", "properties": {
        "a": {"type": "integer", "default": "text"}}}});
    assert_eq!(create(wrong.clone(), json!({"x": {"a": 2}})).await.unwrap(), json!({"x": {"a": 2}}));
    let problem = r#"spec.x.a: Invalid value: "string": spec.x.a in body must be of type integer: "string""#;
    assert_eq!(refusal(wrong, json!({"x": {}})).await, problem);
    let null = json!({"type": "object", "additionalProperties": {"type": "string", "default": "d"}});
    assert_eq!(create(null, json!({"x": null})).await.unwrap(), json!({"x": "d"}));
}

#[tokio::test]
async fn nulls_of_an_apply_in_fields_without_a_type_are_dropped() {
    let free = json!({"x-kubernetes-preserve-unknown-fields": true});
    let (registry, served) =
        with_spec(json!({"type": "object", "properties": {"free": free, "typed": {"type": "string"}}})).await;
    let apply = async |spec: Value| {
        let body = PatchBody::Apply { input: Input::new(note(&spec)), force: false };
        let done = registry.patch(&mut context(), &served, "default", "a", Subresource::None, body).await;
        done.map(|written| serde_json::from_slice::<Value>(&written.object).unwrap())
    };
    assert_eq!(apply(json!({"free": null})).await.unwrap()["spec"], json!({}));
    assert_eq!(apply(json!({"free": null})).await.unwrap()["spec"], json!({}));
    assert_eq!(apply(json!({})).await.unwrap()["spec"], json!({}));
    assert_eq!(apply(json!({"free": {"a": null}})).await.unwrap()["spec"], json!({"free": {"a": null}}));
    assert_eq!(apply(json!({"free": null})).await.unwrap()["spec"], json!({}));
    let refused = apply(json!({"typed": null})).await.unwrap_err();
    assert!(refused.message.ends_with(r#"spec.typed in body must be of type string: "null""#), "{refused}");
}
