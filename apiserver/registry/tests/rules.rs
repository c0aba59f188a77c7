//! Tests of which validation rules an update evaluates.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::registry::common::{self, context, definition, version};
use cel::evaluations;
use registry::{Input, PatchBody, Registry, Served, Subresource};
use serde_json::{Value, json};

fn gadgets(rules: Value) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 10"}]},
            "b": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 10"}]}}},
        "status": {"type": "object", "x-kubernetes-validations": [{"rule": "self.phase != 'Bad'"}],
            "properties": {"phase": {"type": "string"}}}}});
    definition("gadgets", json!([version("v1", true, schema)]))
}

fn rules() -> Value {
    json!([
        {"rule": "self.spec.a <= self.spec.b"},
        {"rule": "has(self.status) ? self.status.phase != 'Worse' : true"},
        {"rule": "oldSelf.spec.a <= self.spec.a"},
    ])
}

/// Returns the number of rules that the patch evaluated, and its warnings.
async fn patch(
    registry: &Registry,
    served: &Served,
    part: Subresource,
    patch: Value,
) -> Result<(u64, Vec<String>), String> {
    let before = evaluations();
    let mut context = context();
    let patch = PatchBody::Merge(patch.to_string().into());
    let done = registry.patch(&mut context, served, "default", "x", part, patch).await;
    done.map(|_| (evaluations() - before, context.warnings)).map_err(|status| status.message)
}

async fn create(registry: &Registry, served: &Served) {
    let object = json!({"apiVersion": "test.example.com/v1", "kind": "Gadget", "metadata": {"name": "x"},
        "spec": {"a": 1, "b": 2}});
    registry.create(&mut context(), served, "default", Input::new(object)).await.unwrap();
}

#[tokio::test]
async fn only_what_can_have_changed_is_evaluated() {
    let (registry, _) = common::registry().await;
    let served = common::serve(&registry, &gadgets(rules())).await;
    create(&registry, &served).await;
    let status = Subresource::Status;
    // Evaluates the rule of `status` and the rule of the whole object that reads it, but no rule that only reads the
    // spec.
    assert_eq!(patch(&registry, &served, status, json!({"status": {"phase": "Good"}})).await.unwrap().0, 2);
    // No rule reads a changed value, but the transition rule is always evaluated.
    let none = Subresource::None;
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(patch(&registry, &served, none, labels).await.unwrap().0, 1);
    // Evaluates the rule of `b`, the rule that compares it, and the transition rule, but not the rules of `a` and
    // `status`.
    assert_eq!(patch(&registry, &served, none, json!({"spec": {"b": 3}})).await.unwrap().0, 3);
    let error = patch(&registry, &served, none, json!({"spec": {"b": 0}})).await.unwrap_err();
    assert!(error.contains("failed rule: self.spec.a <= self.spec.b"), "{error}");
    let error = patch(&registry, &served, status, json!({"status": {"phase": "Bad"}})).await.unwrap_err();
    assert!(error.contains("status: Invalid value: failed rule: self.phase != 'Bad'"), "{error}");
}

/// A rule that is added later applies to objects that violate it. For a value that an update does not change, the
/// violation is a warning, also after a status update; for a changed value, it is an error.
#[tokio::test]
async fn a_new_rule_is_held_against_old_objects() {
    let (registry, _) = common::registry().await;
    let served = common::serve(&registry, &gadgets(rules())).await;
    create(&registry, &served).await;
    let mut definition = gadgets(rules());
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["a"]["x-kubernetes-validations"] =
        json!([{"rule": "self > 5"}]);
    let served = common::serve(&registry, &definition).await;
    let (status, none) = (Subresource::Status, Subresource::None);
    assert_eq!(
        patch(&registry, &served, status, json!({"status": {"phase": "Good"}})).await.unwrap().1.len(),
        0
    );
    for b in [4, 5] {
        let (_, warnings) = patch(&registry, &served, none, json!({"spec": {"b": b}})).await.unwrap();
        assert_eq!(warnings, ["spec.a: Invalid value: 1: failed rule: self > 5"]);
    }
    let error = patch(&registry, &served, none, json!({"spec": {"a": 2}})).await.unwrap_err();
    assert!(error.contains("spec.a: Invalid value: 2: failed rule: self > 5"), "{error}");
    assert_eq!(patch(&registry, &served, none, json!({"spec": {"a": 6, "b": 7}})).await.unwrap().1.len(), 0);
}
