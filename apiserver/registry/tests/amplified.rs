//! Small requests that would become large: each item of a list gets defaults, or errors.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use registry::{Input, PatchBody, Registry, Served, Subresource};
use serde_json::{Map, Value, json};

use crate::registry::common::{GROUP, context, definition, serve, version};
use crate::registry::housekeeping::{create, open};

/// A kind whose lists have items with many defaults.
async fn gadgets(registry: &Registry) -> Served {
    let fields: Map<String, Value> = (0..100)
        .map(|number| (format!("field{number}"), json!({"type": "string", "default": "x".repeat(100)})))
        .collect();
    let schema = json!({"type": "object", "properties": {
        "items": {"type": "array", "items": {"type": "object", "properties": fields}}}});
    serve(registry, &definition("gadgets", json!([version("v1", true, schema)]))).await
}

fn gadget(name: &str, items: usize) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": name}, "items": vec![json!({}); items]})
}

#[tokio::test]
async fn defaults_make_no_object_larger_than_any_that_is_stored() {
    let registry = open().await;
    let served = gadgets(&registry).await;
    create(&registry, &served, "default", gadget("few", 10)).await;
    let many = gadget("many", 300_000);
    let mut refusals = Vec::new();
    let created = registry.create(&mut context(), &served, "default", Input::new(many.clone())).await;
    refusals.push(created.unwrap_err());
    let mut few = many.clone();
    few["metadata"]["name"] = "few".into();
    let none = Subresource::None;
    let updated =
        registry.update(&mut context(), &served, "default", "few", none, Input::new(few.clone())).await;
    refusals.push(updated.unwrap_err());
    let merge = json!({"items": many["items"]}).to_string();
    let json_patch = json!([{"op": "add", "path": "/items", "value": many["items"]}]).to_string();
    for patch in [
        PatchBody::Merge(merge.into()),
        PatchBody::Json(json_patch.into()),
        PatchBody::Apply { input: Input::new(few), force: true },
    ] {
        let patched = registry.patch(&mut context(), &served, "default", "few", none, patch).await;
        refusals.push(patched.unwrap_err());
    }
    for refusal in refusals {
        assert!([400, 422].contains(&refusal.code), "{:.300}", refusal.message);
        let why = "its defaults have more than 3145728 bytes";
        assert!(refusal.message.ends_with(why), "{:.300}", refusal.message);
    }
}

/// Of a version without defaults, many can be stored. They are read in one with defaults.
#[tokio::test]
async fn a_schema_with_new_defaults_makes_no_stored_object_larger_than_any() {
    let registry = open().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let served = serve(&registry, &definition("gadgets", json!([version("v1", true, any)]))).await;
    create(&registry, &served, "default", gadget("many", 300_000)).await;
    let served = gadgets(&registry).await;
    let read = registry.get(&served, "default", "many", Subresource::None, "").await.unwrap();
    assert!(read.len() < 8 << 20, "{}", read.len());
}

#[tokio::test]
async fn a_list_of_a_built_in_kind_has_no_million_items() {
    let registry = open().await;
    let many = vec![json!({}); 900_000];
    let named = |api_version: &str, kind: &str, field: &str, value: Value| {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
        object[field] = value;
        object
    };
    let cases = [
        ("", "pods", named("v1", "Pod", "spec", json!({"containers": many}))),
        ("", "services", named("v1", "Service", "spec", json!({"ports": many}))),
        (
            "rbac.authorization.k8s.io",
            "roles",
            named("rbac.authorization.k8s.io/v1", "Role", "rules", json!(many)),
        ),
        (
            "networking.k8s.io",
            "networkpolicies",
            named("networking.k8s.io/v1", "NetworkPolicy", "spec", json!({"ingress": [{"ports": many}]})),
        ),
        (
            "",
            "configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "finalizers": vec![""; 900_000]}}),
        ),
    ];
    for (group, plural, object) in cases {
        let served = registry.served(group, "v1", plural).unwrap();
        let refusal =
            registry.create(&mut context(), &served, "default", Input::new(object)).await.unwrap_err();
        assert_eq!(refusal.code, 400, "{plural}: {:.300}", refusal.message);
        assert!(
            refusal.message.ends_with("its lists have more than 100000 items"),
            "{:.300}",
            refusal.message
        );
    }
    let maps = registry.served("", "v1", "configmaps").unwrap();
    let data: Map<String, Value> = (0..90_000).map(|number| (format!("k{number}"), "".into())).collect();
    create(
        &registry,
        &maps,
        "default",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wide"}, "data": data}),
    )
    .await;
}

/// Each item or label has several errors, and each error is told twice.
#[tokio::test]
async fn a_refusal_lists_a_thousand_errors() {
    let registry = open().await;
    let labels: Map<String, Value> = (0..220_000).map(|number| (format!("k{number}"), "!".into())).collect();
    let pod = |labels: Value, selector: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": labels},
            "spec": {"containers": [{"name": "a", "image": "b"}], "nodeSelector": selector}})
    };
    let ports = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": vec![json!({}); 20_000]}});
    let versions = vec![json!({}); 900];
    let group_names = json!({"plural": "as", "kind": "A"});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.b.c"},
        "spec": {"group": "b.c", "scope": "Namespaced", "names": group_names, "versions": versions}});
    for (group, plural, object) in [
        ("", "pods", pod(json!(labels), Value::Null)),
        ("", "pods", pod(Value::Null, json!(labels))),
        ("", "services", ports),
        ("apiextensions.k8s.io", "customresourcedefinitions", definition),
    ] {
        let served = registry.served(group, "v1", plural).unwrap();
        let namespace = if group.is_empty() { "default" } else { "" };
        let created = registry.create(&mut context(), &served, namespace, Input::new(object)).await;
        let refusal = created.unwrap_err();
        assert_eq!(refusal.code, 422, "{plural}: {:.300}", refusal.message);
        let causes = refusal.details.as_ref().unwrap()["causes"].as_array().unwrap().len();
        assert_eq!(causes, 1000, "{plural}");
        assert!(
            refusal.message.ends_with("the validation stops after 1000 errors]"),
            "{:.300}",
            refusal.message
        );
        assert!(refusal.message.len() < 1 << 20, "{plural}: {}", refusal.message.len());
    }
}

#[tokio::test]
async fn a_definition_has_no_thousand_versions() {
    let registry = open().await;
    let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let many: Vec<String> = (0..90_000).map(|number| format!("v{number}")).collect();
    let mut converted = definition("gadgets", json!([version("v1", true, json!({"type": "object"}))]));
    converted["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": "https://127.0.0.1"}, "conversionReviewVersions": many}});
    for object in [definition("gadgets", json!(vec![json!({}); 90_000])), converted] {
        let created = registry.create(&mut context(), &crds, "", Input::new(object)).await;
        let refusal = created.unwrap_err();
        assert!(refusal.message.contains("must have at most 1000 items"), "{:.300}", refusal.message);
    }
}
