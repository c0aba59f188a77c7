//! Objects as deep as they may be, on a thread's stack of the usual size.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;
use machinery::decode;
use machinery::limits::MAX_DEPTH;
use registry::{Context, Input, PatchBody, Subresource};
use serde_json::{Value, json};

/// `{"d": {"d": … 1}}`
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({"d": inner}))
}

#[tokio::test]
async fn the_deepest_object_goes_through_every_verb() {
    let (registry, _) = common::registry().await;
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let served =
        common::serve(&registry, &common::definition("deeps", json!([common::version("v1", true, schema)])))
            .await;
    // The levels above: the object itself and `spec`.
    let object = json!({"apiVersion": "test.example.com/v1", "kind": "Deep", "metadata": {"name": "a"},
        "spec": deep(MAX_DEPTH - 2)});
    let text = object.to_string();
    let decoded = decode::json(text.as_bytes()).unwrap().value;
    let mut context = Context::internal("test");
    registry.create(&mut context, &served, "default", Input::new(decoded)).await.unwrap();
    let patch = PatchBody::Merge(json!({"metadata": {"labels": {"a": "b"}}}).to_string().into());
    registry.patch(&mut context, &served, "default", "a", Subresource::None, patch).await.unwrap();
    let got = registry.get(&served, "default", "a", Subresource::None, "").await.unwrap();
    let got = decode::own(&got).unwrap();
    assert_eq!(got["spec"], object["spec"]);
    assert_eq!(got["metadata"]["labels"], json!({"a": "b"}));
}

#[test]
fn one_level_more_is_refused() {
    assert!(decode::json(deep(MAX_DEPTH).to_string().as_bytes()).is_ok());
    let error = decode::json(deep(MAX_DEPTH + 1).to_string().as_bytes()).unwrap_err();
    assert!(error.contains("exceeded max depth"), "{error}");
}
