//! Tests of deeply nested schemas. At the limit they are handled on half the stack of a thread, and above it they are
//! refused. A stack overflow aborts the test program.

use apiextensions::{CompiledSchema, crd};
use cel::Known;
use machinery::decode;
use machinery::limits::MAX_SCHEMA_DEPTH;
use machinery::schema::{self, Schema};
use serde_json::{Value, json};

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

fn schema_of(before: &str, after: &str, levels: usize) -> Value {
    decode::own(nested(before, r#"{"type":"string"}"#, after, levels).as_bytes()).unwrap()
}

/// Passes a definition with this schema, and an object of its kind with the same depth, through all steps.
fn define(source: &Value, object: Value) -> Result<(), String> {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.test"},
        "spec": {"group": "example.test", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": source}}]}});
    crd::decode(&mut definition)?;
    crd::default(&mut definition);
    crd::validate(&definition);
    crd::validate_update(&definition, &definition.clone());
    let schema = CompiledSchema::parse(source).map_err(|error| error.to_string())?;
    let mut object = object;
    schema::coerce(&schema, &mut object)?;
    schema::default(&schema, &mut object);
    schema.validate(&object, Some(&object.clone()), Vec::new(), Known::default());
    assert_eq!(*schema, Schema::clone(&schema));
    Ok(())
}

#[test]
fn schemas() {
    let shapes = [
        (r#"{"type":"object","properties":{"a":"#, "}}"),
        (r#"{"type":"array","items":"#, "}"),
        (r#"{"type":"object","additionalProperties":"#, "}"),
        (r#"{"not":"#, "}"),
        (r#"{"allOf":["#, "]}"),
        (r#"{"type":"object","default":{"a":{}},"anyOf":["#, "]}"),
        (
            r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"self == oldSelf"}],"properties":{"a":"#,
            "}}",
        ),
    ];
    for (before, after) in shapes {
        let at = on_a_small_stack(move || {
            let value = decode::own(object(MAX_SCHEMA_DEPTH).as_bytes()).unwrap();
            define(&schema_of(before, after, MAX_SCHEMA_DEPTH), value)
        });
        assert_eq!(at, Ok(()), "{before}");
        let above = on_a_small_stack(move || {
            Schema::parse(&schema_of(before, after, MAX_SCHEMA_DEPTH + 1)).unwrap_err().to_string()
        });
        assert!(above.contains("nested deeper than 128 levels"), "{above}");
    }
}
