//! The order of mutating policies and mutating webhooks, and what is asked again after the other has changed the object.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::status::Status;
use registry::{Input, Registry};
use serde_json::{Value, json};

use crate::registry::common::{self, Webhook, context, converted, definition, serve, version};

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

/// Creates a policy `p` and its binding; `Validating` or `Mutating` is what its kinds begin with.
async fn bound(registry: &Registry, begin: &str, rule: &Value, spec: &Value, reference: &Value) {
    let prefix = begin.to_lowercase();
    let mut policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{begin}AdmissionPolicy"),
        "metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [rule]}}});
    let mut binding = json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{begin}AdmissionPolicyBinding"), "metadata": {"name": "p"}, "spec": {"policyName": "p"}});
    if begin == "Mutating" {
        let expression = "Object{metadata: Object.metadata{labels: {'p': 'x'}}}";
        policy["spec"]["reinvocationPolicy"] = "Never".into();
        policy["spec"]["mutations"] =
            json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]);
    } else {
        policy["spec"]["validations"] = json!([{"expression": "true"}]);
        binding["spec"]["validationActions"] = json!(["Warn"]);
    }
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    if !reference.is_null() {
        binding["spec"]["paramRef"] = reference.clone();
    }
    create(registry, &format!("{prefix}admissionpolicies"), policy).await;
    create(registry, &format!("{prefix}admissionpolicybindings"), binding).await;
}

/// Creates a Gadget in `v1` while a policy asks for it in `v2`, to which the webhook at `unreachable` does not convert it.
async fn converted_gadget(begin: &str, failures: &str, unreachable: &'static str) -> Result<(), Status> {
    let (registry, webhook) = common::registry().await;
    webhook.answers(move |review| {
        let wanted = review["request"]["desiredAPIVersion"].as_str().unwrap_or_default();
        if wanted.ends_with(unreachable) { Err("boom".to_owned()) } else { Ok(converted(review, |_| ())) }
    });
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let versions = json!([version("v1", true, any.clone()), version("v2", false, any)]);
    let mut gadgets = definition("gadgets", versions);
    gadgets["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": "https://127.0.0.1:9443/convert"}, "conversionReviewVersions": ["v1"]}});
    let gadgets = serve(&registry, &gadgets).await;
    let rule = json!({"apiGroups": ["test.example.com"], "apiVersions": ["v2"], "operations": ["CREATE"],
        "resources": ["gadgets"]});
    bound(&registry, begin, &rule, &json!({"failurePolicy": failures}), &Value::Null).await;
    let gadget = json!({"apiVersion": "test.example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}});
    registry.create(&mut context(), &gadgets, "default", Input::new(gadget)).await.map(drop)
}

/// An object that cannot be converted to the version of a policy is an error of the policy, which it can ignore. One that cannot be converted
/// back is an error of the server.
#[tokio::test]
async fn objects_that_cannot_be_converted() {
    let failed = "conversion webhook for test.example.com/v1, Kind=Gadget failed: ";
    for (begin, code, reason, why) in [
        ("Mutating", 403, "Forbidden", "policy \"p\" denied request: failed to configure policy: "),
        (
            "Validating",
            422,
            "Invalid",
            "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed to configure binding: \
             failed to convert object version: ",
        ),
    ] {
        let refused = converted_gadget(begin, "Fail", "/v2").await.unwrap_err();
        assert!(refused.message.contains(&format!("{why}{failed}")), "{}", refused.message);
        assert_eq!((refused.code, refused.reason), (code, reason), "{begin}");
        converted_gadget(begin, "Ignore", "/v2").await.unwrap();
    }
    let refused = converted_gadget("Mutating", "Ignore", "/v1").await.unwrap_err();
    let why =
        "Internal error occurred: failed to convert object: conversion webhook for test.example.com/v2, ";
    assert!(refused.message.starts_with(why), "{}", refused.message);
}

/// The parameters for a request about a Namespace are in this Namespace.
#[tokio::test]
async fn parameters_for_namespaces() {
    for begin in ["Mutating", "Validating"] {
        let (registry, _) = common::registry().await;
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["namespaces"]});
        let kind = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}});
        let reference = json!({"name": "c", "parameterNotFoundAction": "Deny"});
        bound(&registry, begin, &rule, &kind, &reference).await;
        let namespaces = registry.served("", "v1", "namespaces").unwrap();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own"}});
        let created = registry.create(&mut context(), &namespaces, "", Input::new(namespace)).await;
        let refused = created.map(drop).unwrap_err();
        let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
        assert!(refused.message.ends_with(why), "{begin}: {}", refused.message);
    }
}
