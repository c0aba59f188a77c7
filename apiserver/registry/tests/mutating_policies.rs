//! The order of mutating policies and mutating webhooks, and what is asked again after the other has changed the object.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use registry::{Input, Registry};
use serde_json::{Value, json};

use crate::registry::common::{self, Webhook, context};

const GROUP: &str = "admissionregistration.k8s.io";

async fn create(registry: &Registry, plural: &str, object: Value) {
    let object = Input::new(object);
    let served = registry.served(GROUP, "v1", plural).unwrap();
    registry.create(&mut context(), &served, "", object).await.unwrap();
}

fn rules(extra: &Value) -> Value {
    let mut rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    if extra.is_string() {
        rule["apiGroups"] = json!([GROUP]);
        rule["resources"] = json!([extra]);
    }
    json!([rule])
}

async fn policy(registry: &Registry, name: &str, again: &str, expression: &str, resource: &Value) {
    create(registry, "mutatingadmissionpolicies", json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
            "reinvocationPolicy": again, "matchConstraints": {"resourceRules": rules(resource)},
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]}}))
    .await;
    create(
        registry,
        "mutatingadmissionpolicybindings",
        json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": {"policyName": name}}),
    )
    .await;
}

fn configuration(name: &str, again: &str) -> Value {
    let rule = json!({"apiGroups": ["", GROUP], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["configmaps", "mutatingwebhookconfigurations", "mutatingadmissionpolicies"]});
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [{
            "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "reinvocationPolicy": again,
            "clientConfig": {"url": "https://127.0.0.1:9443/admit"}, "rules": [rule]}]})
}

/// Lets the webhook add the label `w`, whose value is how often it was called.
fn label(webhook: &Webhook) {
    let calls = webhook.clone();
    webhook.answers(move |review| {
        let patch = json!([{"op": "add", "path": "/metadata/labels/w", "value": calls.calls().to_string()}]);
        let response = json!({"uid": review["request"]["uid"], "allowed": true, "patchType": "JSONPatch",
            "patch": STANDARD.encode(patch.to_string())});
        Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
    });
}

#[tokio::test]
async fn policies_come_first_and_both_are_asked_again() {
    for (again, calls, seen) in [("IfNeeded", 2, "1"), ("Never", 1, "none")] {
        let (registry, webhook) = common::registry().await;
        label(&webhook);
        create(&registry, "mutatingwebhookconfigurations", configuration("w", again)).await;
        let expression = "Object{metadata: Object.metadata{labels: {'p': 'x'}}, \
            data: {'seen': object.metadata.?labels.?w.orValue('none')}}";
        policy(&registry, "p", again, expression, &Value::Null).await;
        let maps = registry.served("", "v1", "configmaps").unwrap();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
        let written = registry.create(&mut context(), &maps, "default", Input::new(map)).await.unwrap();
        let written: Value = serde_json::from_slice(&written.object).unwrap();
        assert_eq!(written["data"]["seen"], seen, "{again}");
        assert_eq!(written["metadata"]["labels"], json!({"p": "x", "w": calls.to_string()}), "{again}");
        assert_eq!(webhook.calls(), calls, "{again}");
        let first = webhook.requests.lock().unwrap()[0].1.clone();
        assert_eq!(first["request"]["object"]["metadata"]["labels"], json!({"p": "x"}), "{again}");
    }
}

/// Policies are asked about webhook configurations, and not about policies; webhooks are asked about none of them.
#[tokio::test]
async fn what_configures_admission_is_not_changed_by_its_own_kind() {
    let (registry, webhook) = common::registry().await;
    let label_it = "Object{metadata: Object.metadata{labels: {'p': 'x'}}}";
    policy(&registry, "hooks", "Never", label_it, &"mutatingwebhookconfigurations".into()).await;
    policy(&registry, "policies", "Never", label_it, &"mutatingadmissionpolicies".into()).await;
    create(&registry, "mutatingwebhookconfigurations", configuration("v", "Never")).await;
    create(&registry, "mutatingwebhookconfigurations", configuration("w", "Never")).await;
    policy(&registry, "third", "Never", label_it, &Value::Null).await;
    for (plural, name, labels) in [
        ("mutatingwebhookconfigurations", "w", json!({"p": "x"})),
        ("mutatingadmissionpolicies", "third", Value::Null),
    ] {
        let served = registry.served(GROUP, "v1", plural).unwrap();
        let text = registry.get(&served, "", name, registry::Subresource::None, "").await.unwrap();
        let object: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(object["metadata"]["labels"], labels, "{plural}");
    }
    assert_eq!(webhook.calls(), 0);
}
