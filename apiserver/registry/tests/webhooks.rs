//! Admission webhooks that are configured in the API: the requests that they are called for, and the answers that they may give.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use machinery::status::Status;
use registry::{Input, PatchBody, Registry, Served, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, GROUP, Webhook, context, definition};

const ADMISSION: &str = "admission.k8s.io/v1";

struct Plane {
    registry: Registry,
    webhook: Webhook,
    gadgets: Served,
}

/// A registry with the kind Gadget, which has the subresources `status` and `scale`, and a webhook of this kind of
/// configuration for the resource `rule`.
async fn plane(kind: &str, rule: &str) -> Plane {
    let (registry, webhook) = common::registry().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let versions = json!([{"name": "v1", "served": true, "storage": true,
        "subresources": {"status": {}, "scale": scale},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}}}]);
    let gadgets = common::serve(&registry, &definition("gadgets", versions)).await;
    let plane = Plane { registry, webhook, gadgets };
    plane.webhook.answers(|review| Ok(answer(review, json!({"allowed": true}))));
    plane.create("x").await.unwrap();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "w"},
        "webhooks": [{
            "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:9443/admit"},
            "rules": [{"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": [rule]}],
        }],
    });
    let plural = format!("{}s", kind.to_lowercase());
    let served = plane.registry.served("admissionregistration.k8s.io", "v1", &plural).unwrap();
    plane.registry.create(&mut context(), &served, "", Input::new(configuration)).await.unwrap();
    plane
}

/// Returns the answer to a review. A `response` without `uid` gets the `uid` of the request.
fn answer(review: &Value, mut response: Value) -> Value {
    if response.is_object() && response.get("uid").is_none() {
        response["uid"] = review["request"]["uid"].clone();
    }
    json!({"apiVersion": ADMISSION, "kind": "AdmissionReview", "response": response})
}

impl Plane {
    async fn create(&self, name: &str) -> Result<(), Status> {
        let object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": name}, "spec": {"replicas": 1}});
        self.registry.create(&mut context(), &self.gadgets, "default", Input::new(object)).await.map(drop)
    }

    async fn patch(&self, part: Subresource, patch: Value) {
        let patch = PatchBody::Merge(patch.to_string().into());
        self.registry.patch(&mut context(), &self.gadgets, "default", "x", part, patch).await.unwrap();
    }
}

#[tokio::test]
async fn resources_of_rules() {
    for (rule, part, is_called) in [
        ("gadgets", "", true),
        ("gadgets", "status", false),
        ("gadgets/status", "status", true),
        ("gadgets/status", "", false),
        ("gadgets/*", "status", true),
        ("gadgets/*", "", true),
        ("*", "", true),
        ("*", "status", false),
        ("*/*", "status", true),
        ("*/scale", "scale", true),
        ("*/scale", "", false),
        ("nodes", "", false),
    ] {
        let plane = plane("ValidatingWebhookConfiguration", rule).await;
        match part {
            "status" => plane.patch(Subresource::Status, json!({"status": {"phase": "a"}})).await,
            "scale" => plane.patch(Subresource::Scale, json!({"spec": {"replicas": 2}})).await,
            _ => plane.patch(Subresource::None, json!({"spec": {"size": 2}})).await,
        }
        assert_eq!(plane.webhook.calls() > 0, is_called, "{rule} gadgets/{part}");
    }
}

#[tokio::test]
async fn answers_that_make_no_sense() {
    let plane = plane("MutatingWebhookConfiguration", "gadgets").await;
    for (response, why) in [
        (Value::Null, "webhook response was absent"),
        (json!({"uid": "b", "allowed": true}), "expected response.uid=\"a\", got \"b\""),
        (
            json!({"allowed": true, "patch": "W10="}),
            "webhook returned response.patch but not response.patchType",
        ),
        (
            json!({"allowed": true, "patchType": "JSONPatch"}),
            "webhook returned response.patchType but not response.patch",
        ),
        (
            json!({"allowed": true, "patch": "W10=", "patchType": "Merge"}),
            "webhook returned invalid response.patchType of \"Merge\"",
        ),
    ] {
        plane.webhook.answers(move |review| Ok(answer(review, response.clone())));
        assert_eq!(refusal(&plane).await, why);
    }
    plane.webhook.answers(|_| Ok(json!({})));
    let why = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got , Kind=";
    assert_eq!(refusal(&plane).await, why);
}

/// Returns why the answer to a creation is invalid; `a` is the `uid` of the request.
async fn refusal(plane: &Plane) -> String {
    let status = plane.create("y").await.unwrap_err();
    let (_, review) = plane.webhook.requests.lock().unwrap().last().cloned().unwrap();
    let message = status.message.replace(review["request"]["uid"].as_str().unwrap(), "a");
    let (_, why) = message.split_once("received invalid webhook response: ").unwrap();
    why.to_owned()
}

#[tokio::test]
async fn denials() {
    let plane = plane("ValidatingWebhookConfiguration", "gadgets").await;
    let prefix = "admission webhook \"w.example.com\" denied the request";
    for (status, code, reason, message) in [
        (json!({}), 400, "", format!("{prefix} without explanation")),
        (
            json!({"message": "no", "code": 403, "reason": "Forbidden"}),
            403,
            "Forbidden",
            format!("{prefix}: no"),
        ),
        (json!({"reason": "because", "code": 200}), 400, "", format!("{prefix}: because")),
    ] {
        plane.webhook.answers(move |review| Ok(answer(review, json!({"allowed": false, "status": status}))));
        let refusal = plane.create("y").await.unwrap_err();
        assert_eq!((refusal.code, refusal.reason, refusal.message), (code, reason, message));
    }
}
