//! Custom resources that are applied, and what their definitions say of themselves.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use registry::{Input, PatchBody, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, GROUP, context, definition, serve, version};

#[tokio::test]
async fn empty_metadata_are_not_kept() {
    let (registry, _) = common::registry().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let boxes = serve(&registry, &definition("boxs", json!([version("v1", true, any)]))).await;
    let apply = async |metadata: Value| {
        let mut object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Box", "metadata": metadata});
        object["metadata"]["name"] = "a".into();
        let body = PatchBody::Apply { input: Input::new(object), force: true };
        let written = registry.patch(&mut context(), &boxes, "default", "a", Subresource::None, body).await;
        let mut metadata =
            serde_json::from_slice::<Value>(&written.unwrap().object).unwrap()["metadata"].take();
        metadata
            .as_object_mut()
            .unwrap()
            .retain(|key, _| ["labels", "annotations", "finalizers"].contains(&&**key));
        metadata
    };
    let empty = json!({"labels": {}, "annotations": {}, "finalizers": []});
    assert_eq!(apply(empty.clone()).await, json!({}));
    let full = json!({"labels": {"a": "b"}, "finalizers": ["example.com/f"]});
    assert_eq!(apply(full.clone()).await, full);
    assert_eq!(apply(empty).await, json!({}));
}

#[tokio::test]
async fn definitions_of_the_kubernetes_project_say_who_has_approved_them() {
    let (registry, _) = common::registry().await;
    let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let link = "https://github.com/kubernetes/enhancements/pull/1";
    for (plural, annotation, status, reason, message) in [
        ("ones", link, "True", "ApprovedAnnotation", format!("approved in {link}")),
        (
            "twos",
            "unapproved, a test",
            "False",
            "UnapprovedAnnotation",
            "not approved: \"unapproved, a test\"".into(),
        ),
    ] {
        let mut crd = definition(plural, json!([version("v1", true, json!({"type": "object"}))]));
        crd["spec"]["group"] = "test.k8s.io".into();
        let name = format!("{plural}.test.k8s.io");
        crd["metadata"] = json!({"name": name, "annotations": {"api-approved.kubernetes.io": annotation}});
        registry.create(&mut context(), &crds, "", Input::new(crd)).await.unwrap();
        let text = registry.get(&crds, "", &name, Subresource::None, "").await.unwrap();
        let found: Value = serde_json::from_slice(&text).unwrap();
        let conditions = found["status"]["conditions"].as_array().unwrap();
        let kinds: Vec<&str> = conditions.iter().map(|one| one["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["KubernetesAPIApprovalPolicyConformant", "NamesAccepted", "Established"]);
        let first = &conditions[0];
        assert_eq!((&first["status"], &first["reason"]), (&json!(status), &json!(reason)));
        assert_eq!(first["message"], json!(message));
    }
}
