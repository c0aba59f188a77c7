//! The verbs on a memory engine, called like from the HTTP layer.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::{
    Context, DeleteOptions, Deleted, EventType, Input, ListOptions, Options, PatchBody, Preconditions,
    Propagation, Registry, Served, Subresource, WatchOptions,
};
use serde_json::{Value, json};
use store::{Memory, Store};

async fn open() -> Registry {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    Registry::open(store, clock, Random::seeded(1), Options::default()).await.unwrap()
}

fn context() -> Context {
    Context { field_manager: "test".into(), ..Context::default() }
}

async fn widgets(registry: &Registry) -> Served {
    let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.golden.test"},
        "spec": {"group": "golden.test", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "minimum": 0}, "replicas": {"type": "integer", "default": 1}}},
                    "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}]},
    });
    registry.create(&mut context(), &crds, "", Input::new(crd)).await.unwrap();
    registry.served("golden.test", "v1", "widgets").expect("served before the answer")
}

fn parse(text: &Bytes) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[tokio::test]
async fn a_watch_ends_when_its_definition_says_something_else() {
    let registry = open().await;
    let served = widgets(&registry).await;
    let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let name = "widgets.golden.test";
    let change = async |change: Value| {
        let patch = PatchBody::Merge(change.to_string().into());
        registry.patch(&mut context(), &crds, "", name, Subresource::None, patch).await.unwrap();
    };
    let start = async || {
        let served = registry.served("golden.test", "v1", "widgets").unwrap();
        registry.watch(&mut context(), &served, "default", &WatchOptions::default()).await.unwrap()
    };
    let mut watch = start().await;
    change(json!({"metadata": {"labels": {"a": "b"}}})).await;
    let widget = json!({"apiVersion": "golden.test/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}});
    registry.create(&mut context(), &served, "default", Input::new(widget)).await.unwrap();
    assert!(watch.next().await.is_some(), "labels change nothing");
    change(json!({"spec": {"names": {"categories": ["other"]}}})).await;
    assert!(watch.next().await.is_none());
    let mut watch = start().await;
    registry.delete(&mut context(), &crds, "", name, &DeleteOptions::default()).await.unwrap();
    while watch.next().await.is_some() {}
}

#[tokio::test]
async fn a_custom_object_lives() {
    let registry = open().await;
    let served = widgets(&registry).await;
    let mut watch =
        registry.watch(&mut context(), &served, "default", &WatchOptions::default()).await.unwrap();
    let widget = json!({"apiVersion": "golden.test/v1", "kind": "Widget", "metadata": {"name": "a"},
        "spec": {"size": 1}, "status": {"phase": "no"}});
    let mut context = context();
    let created = registry.create(&mut context, &served, "default", Input::new(widget)).await.unwrap();
    let created = parse(&created.object);
    assert_eq!(created["spec"], json!({"size": 1, "replicas": 1}));
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["status"], Value::Null);

    let patch = PatchBody::Merge(Bytes::from_static(br#"{"spec":{"size":2}}"#));
    let patched =
        registry.patch(&mut context, &served, "default", "a", Subresource::None, patch).await.unwrap();
    let patched = parse(&patched.object);
    assert_eq!(patched["metadata"]["generation"], 2);

    let patch = PatchBody::Merge(Bytes::from_static(br#"{"status":{"phase":"Up"},"spec":{"size":9}}"#));
    let patched =
        registry.patch(&mut context, &served, "default", "a", Subresource::Status, patch).await.unwrap();
    let patched = parse(&patched.object);
    assert_eq!((&patched["spec"]["size"], &patched["status"]["phase"]), (&json!(2), &json!("Up")));
    assert_eq!(patched["metadata"]["generation"], 2);

    let got = registry.get(&served, "default", "a", Subresource::None, "").await.unwrap();
    assert_eq!(parse(&got), patched);
    let list = registry.list(&mut context, &served, "", &ListOptions::default()).await.unwrap();
    assert_eq!(list.items.len(), 1);

    let deleted =
        registry.delete(&mut context, &served, "default", "a", &DeleteOptions::default()).await.unwrap();
    assert!(matches!(deleted, Deleted::Status(status) if status["status"] == "Success"));
    for wanted in [EventType::Added, EventType::Modified, EventType::Modified, EventType::Deleted] {
        assert_eq!(watch.next().await.unwrap().kind, wanted);
    }
}

#[tokio::test]
async fn a_deletion_is_taken_back() {
    let registry = open().await;
    let served = widgets(&registry).await;
    let widget = json!({"apiVersion": "golden.test/v1", "kind": "Widget", "spec": {"size": 1},
        "metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
    let created = registry.create(&mut context(), &served, "default", Input::new(widget)).await.unwrap();
    let created = parse(&created.object);
    let uid = created["metadata"]["uid"].as_str().unwrap().to_owned();
    let undelete = async |context: &mut Context, preconditions: Preconditions, refusal: Option<&str>| {
        let check = |object: &Value, _: &registry::Reader<'_>| {
            assert!(object["metadata"]["deletionTimestamp"].is_string(), "only deletions are checked");
            refusal.map_or(Ok(()), |why| Err(Status::new(403, "Forbidden", why)))
        };
        let undone = registry.undelete(context, &served, ("default", "a"), &preconditions, check).await;
        undone.map(|written| parse(&written.object)).map_err(|status| status.code)
    };
    let any = Preconditions::default();
    assert_eq!(undelete(&mut context(), any.clone(), None).await, Err(409), "it is not being deleted");
    let options = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
    let deleted = registry.delete(&mut context(), &served, "default", "a", &options).await.unwrap();
    let Deleted::Object { object, .. } = deleted else { panic!("a finalizer holds it") };
    let deleted = parse(&object);
    assert_eq!(deleted["metadata"]["generation"], 2);
    let options = WatchOptions {
        resource_version: deleted["metadata"]["resourceVersion"].as_str().unwrap().to_owned(),
        ..WatchOptions::default()
    };
    let mut watch = registry.watch(&mut context(), &served, "default", &options).await.unwrap();
    let other = Preconditions { uid: Some("other".into()), ..any.clone() };
    assert_eq!(undelete(&mut context(), other, None).await, Err(409));
    let older = Preconditions { resource_version: Some("1".into()), ..any.clone() };
    assert_eq!(undelete(&mut context(), older, None).await, Err(409));
    assert_eq!(undelete(&mut context(), any.clone(), Some("no")).await, Err(403));
    let mut dry = Context { dry_run: true, ..context() };
    assert_eq!(undelete(&mut dry, any.clone(), None).await.unwrap()["metadata"]["generation"], 3);
    let stored = registry.get(&served, "default", "a", Subresource::None, "").await.unwrap();
    assert_eq!(parse(&stored), deleted, "a dry run and refusals change nothing");

    let same = Preconditions { uid: Some(uid), ..any.clone() };
    let undone = undelete(&mut context(), same, None).await.unwrap();
    let mut expected = created;
    expected["metadata"]["generation"] = 3.into();
    expected["metadata"]["resourceVersion"] = undone["metadata"]["resourceVersion"].clone();
    assert_eq!(undone, expected, "nothing else is different, not even the finalizers");
    let event = watch.next().await.unwrap();
    assert_eq!((event.kind, parse(&event.object)), (EventType::Modified, undone));
    assert_eq!(undelete(&mut context(), any, None).await, Err(409));
}

/// The store writes the revision into the text of an object. Clients get the text of Go's struct nevertheless.
#[tokio::test]
async fn the_revision_goes_where_a_struct_has_it() {
    let registry = open().await;
    let served = registry.served("", "v1", "configmaps").unwrap();
    for (name, metadata, data) in [
        ("a", json!({}), json!({})),
        ("b", json!({"labels": {"resourceVersion": "no"}}), json!({"resourceVersion": "no"})),
        (
            "c",
            json!({"annotations": {"z": "{\"resourceVersion\":\"1\"}"}, "finalizers": ["x/y"]}),
            json!({"z": "}"}),
        ),
        ("d", json!({"selfLink": "s", "generateName": "g"}), Value::Null),
    ] {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        object["metadata"]["name"] = name.into();
        let mut dry = Context { dry_run: true, ..context() };
        let dry = registry.create(&mut dry, &served, "default", Input::new(object.clone())).await.unwrap();
        let created = registry.create(&mut context(), &served, "default", Input::new(object)).await.unwrap();
        let revision = parse(&created.object)["metadata"]["resourceVersion"].clone();
        assert!(
            revision.as_str().is_some_and(|revision| revision.parse::<u64>().is_ok()),
            "{name}: {revision}"
        );
        assert_eq!(parse(&dry.object)["metadata"].get("resourceVersion"), None, "{name}");
        let got = registry.get(&served, "default", name, Subresource::None, "").await.unwrap();
        assert_eq!(got, created.object, "{name}");

        let options =
            WatchOptions { resource_version: revision.as_str().unwrap().into(), ..WatchOptions::default() };
        let mut watch = registry.watch(&mut context(), &served, "default", &options).await.unwrap();
        let unfinished = PatchBody::Merge(Bytes::from_static(br#"{"metadata":{"finalizers":null}}"#));
        registry
            .patch(&mut context(), &served, "default", name, Subresource::None, unfinished)
            .await
            .unwrap();
        registry.delete(&mut context(), &served, "default", name, &DeleteOptions::default()).await.unwrap();
        let mut texts = vec![dry.object, created.object];
        while texts.len() < 3 {
            let event = watch.next().await.unwrap();
            if event.kind == EventType::Deleted {
                texts.push(event.object);
            }
        }
        assert_ne!(
            parse(&texts[2])["metadata"]["resourceVersion"],
            revision,
            "{name}: it is that of the deletion"
        );
        for text in texts {
            assert_eq!(text, kinds::json::text(&parse(&text)), "{name}");
        }
    }
}
