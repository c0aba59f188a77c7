//! What the patch of a webhook may make of an object: it stays the object that the request names.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::status::Status;
use registry::{Context, DeleteOptions, Input, PatchBody, Registry, Served, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, GROUP, Webhook, context, definition};

struct Plane {
    registry: Registry,
    webhook: Webhook,
    gadgets: Served,
    maps: Served,
}

/// A registry with the kind Gadget, which has the subresources `status` and `scale`, with an object `x` of it and of ConfigMap, and then a
/// webhook for both kinds.
async fn plane(configuration: &str) -> Plane {
    let (registry, webhook) = common::registry().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage,
        "subresources": {"status": {}, "scale": scale},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}}})
    };
    let gadgets =
        common::serve(&registry, &definition("gadgets", json!([version("v1", true), version("v2", false)])))
            .await;
    let maps = registry.served("", "v1", "configmaps").unwrap();
    let plane = Plane { registry, webhook, gadgets, maps };
    for custom in [true, false] {
        plane.create(custom, "x").await.unwrap();
    }
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": configuration, "metadata": {"name": "w"},
        "webhooks": [{
            "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:9443/admit"},
            "rules": [{"apiGroups": ["", GROUP], "apiVersions": ["*"], "operations": ["*"],
                "resources": ["configmaps", "gadgets", "gadgets/*"]},
                {"apiGroups": ["apiextensions.k8s.io"], "apiVersions": ["*"], "operations": ["*"],
                "resources": ["customresourcedefinitions/status"]}],
        }],
    });
    let plural = format!("{}s", configuration["kind"].as_str().unwrap().to_lowercase());
    let served = plane.registry.served("admissionregistration.k8s.io", "v1", &plural).unwrap();
    plane.registry.create(&mut context(), &served, "", Input::new(configuration)).await.unwrap();
    plane
}

impl Plane {
    /// Lets the webhook answer with these operations.
    fn patches(&self, operations: &Value) {
        let patch = STANDARD.encode(operations.to_string());
        self.webhook.answers(move |review| {
            let uid = &review["request"]["uid"];
            let response = json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch});
            Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
        });
    }

    fn served(&self, custom: bool) -> &Served {
        if custom { &self.gadgets } else { &self.maps }
    }

    async fn create(&self, custom: bool, name: &str) -> Result<Value, Status> {
        let object = if custom {
            json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": name}, "spec": {"replicas": 1}})
        } else {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
        };
        let served = self.served(custom);
        let written = self.registry.create(&mut context(), served, "default", Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    async fn label(
        &self,
        context: &mut Context,
        custom: bool,
        part: Subresource,
        patch: Value,
    ) -> Result<Value, Status> {
        let patch = PatchBody::Merge(patch.to_string().into());
        let served = self.served(custom);
        let written = self.registry.patch(context, served, "default", "x", part, patch).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    /// Returns the refusals of a creation and of an update.
    async fn refusals(&self, custom: bool) -> [(u16, String); 2] {
        let created = self.create(custom, "y").await.unwrap_err();
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        let updated = self.label(&mut context(), custom, Subresource::None, labels).await.unwrap_err();
        assert!(self.read(custom, "y").await.is_none());
        [(created.code, created.message), (updated.code, updated.message)]
    }

    async fn read(&self, custom: bool, name: &str) -> Option<Value> {
        let text =
            self.registry.get(self.served(custom), "default", name, Subresource::None, "").await.ok()?;
        Some(serde_json::from_slice(&text).unwrap())
    }
}

fn replace(path: &str, value: Value) -> Value {
    json!([{"op": "replace", "path": path, "value": value}])
}

#[tokio::test]
async fn a_patch_that_makes_another_object_of_it_is_refused() {
    let plane = plane("MutatingWebhookConfiguration").await;
    let namespace = "the namespace of the provided object does not match the namespace sent on the request";
    let unsuitable = format!(
        "other.example.com/v1, Kind=Gadget is unstructured and is not suitable for converting to \"{GROUP}/v1\""
    );
    let unknown = format!("request to convert CR from an invalid group/version: {GROUP}/v9");
    let unregistered = "Internal error occurred: no kind \"Nothing\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"";
    let unversioned = "Internal error occurred: no kind \"ConfigMap\" is registered for version \"v9\" in scheme \"pkg/runtime/scheme.go:111\"";
    for (custom, path, value, code, message) in [
        (false, "/metadata/namespace", "kube-system", 400, namespace),
        (true, "/metadata/namespace", "kube-system", 400, namespace),
        (false, "/kind", "Secret", 500, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (false, "/kind", "Nothing", 500, unregistered),
        (false, "/apiVersion", "v9", 500, unversioned),
        (true, "/apiVersion", "test.example.com/v9", 500, &unknown),
        (true, "/apiVersion", "other.example.com/v1", 500, &unsuitable),
    ] {
        plane.patches(&replace(path, value.into()));
        for refusal in plane.refusals(custom).await {
            assert_eq!(refusal, (code, message.to_owned()), "{path} {value}");
        }
    }
    plane.patches(&replace("/kind", "Other".into()));
    for (code, message) in plane.refusals(true).await {
        assert_eq!(code, 422, "{message}");
        assert!(message.contains("kind: Invalid value: \"Other\": must be Gadget"), "{message}");
    }
}

#[tokio::test]
async fn a_stored_object_keeps_its_identity() {
    let plane = plane("MutatingWebhookConfiguration").await;
    for custom in [true, false] {
        for (path, value) in [("/metadata/name", json!("z")), ("/metadata/uid", json!("other"))] {
            plane.patches(&replace(path, value));
            let labels = json!({"metadata": {"labels": {"a": "b"}}});
            let refusal = plane.label(&mut context(), custom, Subresource::None, labels).await.unwrap_err();
            assert_eq!(refusal.code, 422, "{path}: {}", refusal.message);
        }
        let before = plane.read(custom, "x").await.unwrap();
        plane.patches(&json!([
            {"op": "remove", "path": "/metadata/uid"},
            {"op": "replace", "path": "/metadata/creationTimestamp", "value": "2001-01-01T00:00:00Z"},
            {"op": "add", "path": "/metadata/generation", "value": 77},
            {"op": "add", "path": "/metadata/selfLink", "value": "/x"},
        ]));
        let labels = json!({"metadata": {"labels": {"a": custom.to_string()}}});
        let after = plane.label(&mut context(), custom, Subresource::None, labels).await.unwrap();
        for field in ["uid", "creationTimestamp", "generation", "selfLink", "deletionTimestamp"] {
            assert_eq!(after["metadata"][field], before["metadata"][field], "{field}");
        }
    }
}

/// A real kube-apiserver stores such an object, which then waits for its removal for ever.
#[tokio::test]
async fn an_object_is_not_created_as_a_deleted_one() {
    let plane = plane("MutatingWebhookConfiguration").await;
    for custom in [true, false] {
        plane.patches(&json!([
            {"op": "add", "path": "/metadata/deletionTimestamp", "value": "2001-01-01T00:00:00Z"},
            {"op": "add", "path": "/metadata/deletionGracePeriodSeconds", "value": 30},
            {"op": "add", "path": "/metadata/uid", "value": "mine"},
            {"op": "add", "path": "/metadata/finalizers", "value": ["test.io/hold"]},
        ]));
        let created = plane.create(custom, "y").await.unwrap();
        let metadata = &created["metadata"];
        assert_eq!(
            (&metadata["deletionTimestamp"], &metadata["deletionGracePeriodSeconds"]),
            (&Value::Null, &Value::Null)
        );
        assert_ne!(metadata["uid"], "mine");
        assert_eq!(metadata["finalizers"], json!(["test.io/hold"]));
    }
}

#[tokio::test]
async fn unusable_managers_and_repeated_owners_are_dropped_with_a_warning() {
    let plane = plane("MutatingWebhookConfiguration").await;
    let before = plane.read(true, "x").await.unwrap();
    plane.patches(&replace("/metadata/managedFields", json!([{"manager": "m", "operation": "Nothing"}])));
    let mut context = context();
    let status = json!({"status": {"phase": "a"}});
    let after = plane.label(&mut context, true, Subresource::Status, status).await.unwrap();
    assert_eq!(after["metadata"]["managedFields"][0], before["metadata"]["managedFields"][0]);
    assert!(
        context.warnings[0].starts_with(".metadata.managedFields was in an invalid state after admission")
    );
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    plane.patches(&json!([{"op": "add", "path": "/metadata/ownerReferences", "value": [owner, owner]}]));
    let mut context = common::context();
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let after = plane.label(&mut context, false, Subresource::None, labels).await.unwrap();
    assert_eq!(after["metadata"]["ownerReferences"], json!([owner]));
    let start = ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups";
    assert!(context.warnings[0].starts_with(start), "{:?}", context.warnings);
}

#[tokio::test]
async fn a_subresource_writes_only_what_it_is_for() {
    let plane = plane("MutatingWebhookConfiguration").await;
    plane.patches(&json!([
        {"op": "add", "path": "/spec/replicas", "value": 9},
        {"op": "add", "path": "/metadata/finalizers", "value": ["test.io/hold"]},
        {"op": "add", "path": "/status/seen", "value": true},
    ]));
    let status = json!({"status": {"phase": "a"}});
    let after = plane.label(&mut context(), true, Subresource::Status, status).await.unwrap();
    assert_eq!((&after["spec"]["replicas"], &after["metadata"]["finalizers"]), (&json!(1), &Value::Null));
    assert_eq!(after["status"], json!({"phase": "a", "seen": true}));
    // The object of a Scale is the Scale.
    plane.patches(&replace("/spec/replicas", json!(3)));
    let scale = plane
        .label(&mut context(), true, Subresource::Scale, json!({"spec": {"replicas": 2}}))
        .await
        .unwrap();
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(3)));
    assert_eq!(plane.read(true, "x").await.unwrap()["spec"]["replicas"], 3);
    for (path, value, code) in
        [("/kind", "Gadget", 500), ("/metadata/namespace", "kube-system", 400), ("/metadata/name", "z", 400)]
    {
        plane.patches(&replace(path, value.into()));
        let refused =
            plane.label(&mut context(), true, Subresource::Scale, json!({"spec": {"replicas": 5}})).await;
        assert_eq!(refused.unwrap_err().code, code, "{path}");
    }
    assert_eq!(plane.read(true, "x").await.unwrap()["spec"]["replicas"], 3);
}

#[tokio::test]
async fn a_patch_where_nothing_can_be_patched_is_refused() {
    let plane = plane("MutatingWebhookConfiguration").await;
    plane.patches(&replace("/metadata/labels", json!({})));
    let options = DeleteOptions::default();
    let refused =
        plane.registry.delete(&mut context(), &plane.maps, "default", "x", &options).await.unwrap_err();
    let why = "Internal error occurred: admission webhook \"w.example.com\" attempted to modify the object, which is not supported for this operation";
    assert_eq!((refused.code, refused.message.as_str()), (500, why));
    plane.patches(&json!([]));
    plane.registry.delete(&mut context(), &plane.maps, "default", "x", &options).await.unwrap();
    plane.patches(&json!({"op": "add"}));
    let refused = plane.create(true, "y").await.unwrap_err();
    let start = "Internal error occurred: failed calling webhook \"w.example.com\": received undecodable patch in webhook response: ";
    assert!(refused.code == 500 && refused.message.starts_with(start), "{}", refused.message);
}

#[tokio::test]
async fn a_validating_webhook_cannot_patch() {
    let plane = plane("ValidatingWebhookConfiguration").await;
    plane.patches(&replace("/metadata/labels", json!({})));
    for (code, message) in plane.refusals(false).await {
        let why = "failed calling webhook \"w.example.com\": received invalid webhook response: validating webhook may not return response.patch";
        assert_eq!((code, message), (500, format!("Internal error occurred: {why}")));
    }
}

/// A Pod that only runs when the server does may answer the webhook.
#[tokio::test]
async fn what_the_server_needs_to_start_asks_no_webhook_and_no_policy() {
    for configuration in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        let plane = plane(configuration).await;
        plane.webhook.answers(|_| Err("connection refused".into()));
        plane.create(false, "y").await.unwrap_err();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}});
        let mut context = Context::start("server");
        plane.registry.create(&mut context, &plane.maps, "default", Input::new(object)).await.unwrap();
        // The status of a definition is the server's own.
        let versions = json!([common::version("v1", true, json!({"type": "object"}))]);
        common::serve(&plane.registry, &definition("widgets", versions)).await;
    }
}
