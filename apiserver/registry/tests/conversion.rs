//! Conversion by webhook and in this process: the requests, the accepted answers, and the results for clients.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use crate::registry::common::{self, Webhook, context, converted, definition, version};
use registry::{
    Converter, Definition, EventType, Input, ListOptions, PatchBody, Registry, Served, Subresource,
    WatchOptions, WebhookResponse,
};
use serde_json::{Value, json};

/// Returns a definition with the versions v1 (`spec.size`) and v2 (`spec.box.size`).
fn widgets(storage: &str) -> Value {
    let string = json!({"type": "string"});
    let v1 = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": string, "colour": {"type": "string", "default": "red"}}},
        "status": {"type": "object", "properties": {"phase": string}}}});
    let v2 = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "box": {"type": "object", "properties": {"size": string}}, "colour": string}},
        "status": {"type": "object", "properties": {"phase": string}}}});
    let versions = json!([version("v1", storage == "v1", v1), version("v2", storage == "v2", v2)]);
    let mut definition = definition("widgets", versions);
    definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": "https://127.0.0.1:9443/convert"}, "conversionReviewVersions": ["v1", "v1beta1"]}});
    definition
}

/// Moves the size to its path in the requested version.
fn convert(object: &mut Value, wanted: &str) {
    let spec = object["spec"].as_object_mut().unwrap();
    if wanted.ends_with("/v2") {
        if let Some(size) = spec.remove("size") {
            spec.insert("box".into(), json!({"size": size}));
        }
    } else if let Some(found) = spec.remove("box") {
        spec.insert("size".into(), found["size"].clone());
    }
}

fn both_ways(review: &Value) -> Result<Value, String> {
    let wanted = review["request"]["desiredAPIVersion"].as_str().unwrap().to_owned();
    Ok(converted(review, |object| convert(object, &wanted)))
}

/// Converts like the webhook.
#[derive(Debug)]
struct InProcess;

impl Converter for InProcess {
    fn defined(&self, _: &Definition) {}

    fn concerns(&self, definition: &Definition) -> bool {
        definition.plural == "widgets"
    }

    fn convert(&self, definition: &Definition, mut object: Value, version: &str) -> Value {
        convert(&mut object, &definition.api_version(version));
        object
    }
}

struct Plane {
    registry: Registry,
    webhook: Webhook,
    v1: Served,
    v2: Served,
}

async fn plane(storage: &str) -> Plane {
    plane_with(widgets(storage)).await
}

/// Without a webhook, the converter converts.
async fn plane_in_process(storage: &str) -> Plane {
    let mut definition = widgets(storage);
    definition["spec"]["conversion"] = json!({"strategy": "None"});
    let plane = plane_with(definition).await;
    plane.webhook.answers(|_| Err("the webhook is not asked".to_owned()));
    plane
}

async fn plane_with(definition: Value) -> Plane {
    let (registry, webhook) = common::registry_with(Some(Arc::new(InProcess))).await;
    webhook.answers(both_ways);
    let v1 = common::serve(&registry, &definition).await;
    let v2 = common::served(&registry, &definition, "v2");
    Plane { registry, webhook, v1, v2 }
}

impl Plane {
    async fn create(&self, name: &str) -> Result<Value, String> {
        let object = json!({"apiVersion": "test.example.com/v1", "kind": "Widget",
            "metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"size": "5"}});
        let created = self.registry.create(&mut context(), &self.v1, "default", Input::new(object)).await;
        created.map(|written| parse(&written.object)).map_err(|status| {
            assert_eq!((status.code, status.reason), (500, ""));
            status.message
        })
    }

    async fn get(&self, served: &Served, name: &str) -> Value {
        parse(&self.registry.get(served, "default", name, Subresource::None, "").await.unwrap())
    }
}

fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[tokio::test]
async fn each_version_sees_the_object_in_its_own_form() {
    let plane = plane("v2").await;
    let created = plane.create("a").await.unwrap();
    assert_eq!(created["spec"], json!({"size": "5", "colour": "red"}));
    assert_eq!(created["apiVersion"], "test.example.com/v1");
    let (request, review) = plane.webhook.requests.lock().unwrap()[0].clone();
    assert_eq!(request.url, "https://127.0.0.1:9443/convert?timeout=30s");
    assert_eq!(review["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(review["request"]["desiredAPIVersion"], "test.example.com/v2");
    assert_eq!(review["request"]["objects"][0]["apiVersion"], "test.example.com/v1");

    assert_eq!(plane.get(&plane.v2, "a").await["spec"], json!({"box": {"size": "5"}, "colour": "red"}));
    assert_eq!(plane.get(&plane.v1, "a").await["spec"]["size"], "5");

    let calls = plane.webhook.calls();
    let options = ListOptions { label_selector: "a=b".into(), ..ListOptions::default() };
    let list = plane.registry.list(&mut context(), &plane.v1, "default", &options).await.unwrap();
    assert_eq!(parse(&list.items[0].object)["spec"]["size"], "5");
    assert_eq!(plane.webhook.calls(), calls, "a list has the conversions that were made before");
}

/// A webhook behind the same address may be another one after an upgrade.
#[tokio::test]
async fn a_get_asks_the_webhook_again() {
    let plane = plane("v2").await;
    plane.create("a").await.unwrap();
    assert_eq!(plane.get(&plane.v1, "a").await["spec"]["size"], "5");
    plane.webhook.answers(|review| Ok(converted(review, |object| object["spec"] = json!({"size": "other"}))));
    assert_eq!(plane.get(&plane.v1, "a").await["spec"]["size"], "other");
    let list =
        plane.registry.list(&mut context(), &plane.v1, "default", &ListOptions::default()).await.unwrap();
    assert_eq!(parse(&list.items[0].object)["spec"]["size"], "other");
    // Who asks for any state gets what is known.
    let calls = plane.webhook.calls();
    let none = Subresource::None;
    let any = plane.registry.get(&plane.v1, "default", "a", none, "0").await.unwrap();
    assert_eq!((parse(&any)["spec"]["size"].clone(), plane.webhook.calls()), ("other".into(), calls));
}

/// The default of a version that its conversion loses does not turn an apply that changes nothing into a change.
#[tokio::test]
async fn an_apply_that_changes_nothing_writes_nothing() {
    let mut definition = widgets("v1");
    let v2 = &mut definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    v2["properties"]["lost"] = json!({"type": "string", "default": "d"});
    let plane = plane_with(definition).await;
    let apply = async |size: &str| {
        let object = json!({"apiVersion": "test.example.com/v2", "kind": "Widget", "metadata": {"name": "a"},
            "spec": {"box": {"size": size}}});
        let body = PatchBody::Apply { input: Input::new(object), force: false };
        let none = Subresource::None;
        let done = plane.registry.patch(&mut context(), &plane.v2, "default", "a", none, body).await.unwrap();
        let metadata = parse(&done.object)["metadata"].clone();
        (metadata["generation"].clone(), metadata["resourceVersion"].clone())
    };
    let created = apply("5").await;
    assert_eq!(created.0, 1);
    assert_eq!(apply("5").await, created);
    assert_eq!(apply("5").await, created);
    assert_eq!(apply("6").await.0, 2);
}

#[tokio::test]
async fn each_version_sees_the_object_in_its_own_form_without_a_webhook() {
    let plane = plane_in_process("v2").await;
    let created = plane.create("a").await.unwrap();
    assert_eq!(created["spec"], json!({"size": "5", "colour": "red"}));
    assert_eq!(created["apiVersion"], "test.example.com/v1");
    assert_eq!(plane.get(&plane.v2, "a").await["spec"], json!({"box": {"size": "5"}, "colour": "red"}));
    assert_eq!(plane.get(&plane.v1, "a").await["spec"]["size"], "5");
    // The same object again is no change, neither of the generation nor of the revision.
    let update = Input::new(plane.get(&plane.v1, "a").await);
    let none = Subresource::None;
    let updated =
        plane.registry.update(&mut context(), &plane.v1, "default", "a", none, update).await.unwrap();
    assert_eq!(parse(&updated.object)["metadata"], created["metadata"]);
}

#[tokio::test]
async fn writes_in_one_version_and_watches_in_another() {
    for plane in [plane("v2").await, plane_in_process("v2").await] {
        writes_and_watches(plane).await;
    }
}

async fn writes_and_watches(plane: Plane) {
    plane.create("a").await.unwrap();
    let mut watch =
        plane.registry.watch(&mut context(), &plane.v1, "default", &WatchOptions::default()).await.unwrap();
    let added = watch.next().await.unwrap();
    assert_eq!((added.kind, &parse(&added.object)["spec"]["size"]), (EventType::Added, &json!("5")));
    let patch = PatchBody::Merge(json!({"spec": {"box": {"size": "6"}}}).to_string().into());
    let none = Subresource::None;
    plane.registry.patch(&mut context(), &plane.v2, "default", "a", none, patch).await.unwrap();
    let modified = watch.next().await.unwrap();
    assert_eq!((modified.kind, &parse(&modified.object)["spec"]["size"]), (EventType::Modified, &json!("6")));
    let patch = PatchBody::Merge(json!({"status": {"phase": "Done"}}).to_string().into());
    let status = Subresource::Status;
    plane.registry.patch(&mut context(), &plane.v1, "default", "a", status, patch).await.unwrap();
    let stored = plane.get(&plane.v2, "a").await;
    assert_eq!((&stored["status"]["phase"], &stored["spec"]["box"]["size"]), (&json!("Done"), &json!("6")));
    plane.registry.delete(&mut context(), &plane.v1, "default", "a", &Default::default()).await.unwrap();
    let _status = watch.next().await.unwrap();
    let deleted = watch.next().await.unwrap();
    assert_eq!((deleted.kind, &parse(&deleted.object)["spec"]["size"]), (EventType::Deleted, &json!("6")));
}

/// Fields that another manager applied in another version are compared in that version.
#[tokio::test]
async fn ownership_across_versions() {
    for plane in [plane("v2").await, plane_in_process("v2").await] {
        owners_in_both_versions(plane).await;
    }
}

async fn owners_in_both_versions(plane: Plane) {
    plane.create("a").await.unwrap();
    let apply = |version: &str, spec: Value, force: bool| PatchBody::Apply {
        input: Input::new(json!({"apiVersion": format!("test.example.com/{version}"), "kind": "Widget",
            "metadata": {"name": "a"}, "spec": spec})),
        force,
    };
    let mut one = registry::Context { field_manager: "one".into(), ..context() };
    let first = apply("v1", json!({"size": "7"}), true);
    plane.registry.patch(&mut one, &plane.v1, "default", "a", Subresource::None, first).await.unwrap();
    let mut two = registry::Context { field_manager: "two".into(), ..context() };
    let second = apply("v2", json!({"box": {"size": "8"}}), false);
    let status = plane.registry.patch(&mut two, &plane.v2, "default", "a", Subresource::None, second).await;
    let status = status.unwrap_err();
    assert_eq!(status.code, 409);
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.size");
}

/// After a change of the storage version, objects in the old version are read with its schema and converted.
#[tokio::test]
async fn storage_migration() {
    let plane = plane("v1").await;
    plane.create("a").await.unwrap();
    common::serve(&plane.registry, &widgets("v2")).await;
    let definition = widgets("v2");
    let v1 = common::served(&plane.registry, &definition, "v1");
    let v2 = common::served(&plane.registry, &definition, "v2");
    assert_eq!(plane.get(&v1, "a").await["spec"], json!({"size": "5", "colour": "red"}));
    assert_eq!(plane.get(&v2, "a").await["spec"], json!({"box": {"size": "5"}, "colour": "red"}));
    let crds = plane.registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let name = "widgets.test.example.com";
    let crd = parse(&plane.registry.get(&crds, "", name, Subresource::None, "").await.unwrap());
    assert_eq!(crd["status"]["storedVersions"], json!(["v1", "v2"]));
    // v1 cannot be removed while objects may be stored in it.
    let mut without = crd.clone();
    without["spec"]["versions"].as_array_mut().unwrap().remove(0);
    let update = Input::new(without.clone());
    let none = Subresource::None;
    let status = plane.registry.update(&mut context(), &crds, "", name, none, update).await.unwrap_err();
    assert_eq!(
        status.message,
        "CustomResourceDefinition.apiextensions.k8s.io \"widgets.test.example.com\" is invalid: \
         status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, \
         and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 \
         from status.storedVersions"
    );
}

#[tokio::test]
async fn what_a_webhook_may_not_do() {
    let with = |change: fn(&mut Value)| {
        move |review: &Value| -> Result<Value, String> {
            let mut answer = both_ways(review)?;
            change(&mut answer["response"]);
            Ok(answer)
        }
    };
    let subject = "conversion webhook for test.example.com/v1, Kind=Widget";
    type Case = (fn(&mut Value), &'static str);
    let cases: [Case; 11] = [
        (|response| response["result"] = json!({"status": "Failure", "message": "no"}), " failed: no"),
        (|response| response["result"] = json!({}), " failed: response.result.status was '', not 'Success'"),
        (|response| *response = Value::Null, " failed: no response provided"),
        (|response| response["convertedObjects"] = json!([]), " returned 0 objects, expected 1"),
        (
            |response| response["convertedObjects"][0]["apiVersion"] = "test.example.com/v3".into(),
            " returned invalid object at index 0: invalid groupVersion (expected test.example.com/v2, received test.example.com/v3)",
        ),
        (
            |response| response["convertedObjects"][0]["kind"] = "Other".into(),
            " returned invalid object at index 0: invalid kind (expected Widget, received Other)",
        ),
        (
            |response| response["convertedObjects"][0]["metadata"]["name"] = "b".into(),
            " returned invalid object: must have the same name: a != b",
        ),
        (
            |response| response["convertedObjects"][0]["metadata"]["namespace"] = "b".into(),
            " returned invalid object: must have the same namespace: default != b",
        ),
        (
            |response| response["convertedObjects"][0]["metadata"]["labels"] = json!([1]),
            " returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
        ),
        (
            |response| response["convertedObjects"][0]["metadata"]["labels"] = json!({"a": 1}),
            " returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
        ),
        (
            |response| response["convertedObjects"][0]["metadata"]["labels"] = json!({"a b": "c"}),
            " returned invalid metadata: metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ];
    let plane = plane("v2").await;
    for (change, wanted) in cases {
        plane.webhook.answers(with(change));
        assert_eq!(plane.create("a").await.unwrap_err(), format!("{subject}{wanted}"));
    }
    plane.webhook.answers(|_| Err("dial tcp 127.0.0.1:9443: connect: connection refused".to_owned()));
    let wanted = format!(
        "{subject} failed: Post \"https://127.0.0.1:9443/convert?timeout=30s\": dial tcp 127.0.0.1:9443: connect: \
         connection refused"
    );
    assert_eq!(plane.create("a").await.unwrap_err(), wanted);
    // A webhook may change labels; its other changes in metadata are reverted.
    plane.webhook.answers(|review| {
        let mut answer = both_ways(review)?;
        let metadata = &mut answer["response"]["convertedObjects"][0]["metadata"];
        metadata["labels"] = json!({"c": "d"});
        metadata["finalizers"] = json!(["x.example.com/y"]);
        Ok(answer)
    });
    let created = plane.create("a").await.unwrap();
    assert_eq!(created["metadata"]["labels"], json!({"c": "d"}));
    assert_eq!(created["metadata"].get("finalizers"), None);
}

#[tokio::test]
async fn services_need_endpoints() {
    let plane = plane("v2").await;
    let mut definition = widgets("v2");
    definition["spec"]["conversion"]["webhook"]["clientConfig"] =
        json!({"service": {"namespace": "system", "name": "converter", "path": "/convert"}});
    common::serve(&plane.registry, &definition).await;
    let served = common::served(&plane.registry, &definition, "v1");
    let plane = Plane { v1: served, ..plane };
    assert_eq!(
        plane.create("a").await.unwrap_err(),
        "conversion webhook for test.example.com/v1, Kind=Widget failed: Post \
         \"https://converter.system.svc:443/convert?timeout=30s\": service \"converter\" not found"
    );
}

#[tokio::test]
async fn responses_in_the_words_of_client_go() {
    let plane = plane("v2").await;
    for (code, content_type, body, wanted) in [
        (404, "text/plain", "404 page not found", "the server could not find the requested resource"),
        (
            500,
            "text/plain",
            "boom\n",
            "an error on the server (\"boom\") has prevented the request from succeeding",
        ),
        (500, "application/json", r#"{"kind":"Status","message":"said so"}"#, "said so"),
        (
            302,
            "text/html",
            "",
            "the server responded with the status code 302 but did not return more information",
        ),
        (
            200,
            "text/html",
            "<html>",
            "couldn't get version/kind; json parse error: invalid character '<' looking for beginning of value",
        ),
    ] {
        let response = WebhookResponse { code, content_type: content_type.into(), body: body.into() };
        *plane.webhook.response.lock().unwrap() = Some(response);
        let wanted = format!("conversion webhook for test.example.com/v1, Kind=Widget failed: {wanted}");
        assert_eq!(plane.create("a").await.unwrap_err(), wanted);
    }
}

/// Each of these objects takes a little less than half of the cache.
#[tokio::test]
async fn what_is_converted_is_kept_up_to_a_limit_and_until_the_definition_changes() {
    let mut definition = widgets("v2");
    let mut plane = plane_with(definition.clone()).await;
    plane.webhook.answers(|review| {
        let colour = "x".repeat(16 * 1024 * 1024 - 4096);
        Ok(converted(review, |object| object["spec"]["colour"] = colour.as_str().into()))
    });
    for name in ["a", "b", "c"] {
        let object = json!({"apiVersion": "test.example.com/v2", "kind": "Widget",
            "metadata": {"name": name}, "spec": {}});
        plane.registry.create(&mut context(), &plane.v2, "default", Input::new(object)).await.unwrap();
    }
    let converts = async |plane: &Plane, name: &str| {
        let before = plane.webhook.calls();
        // Any state will do, so that a conversion that is kept is used.
        plane.registry.get(&plane.v1, "default", name, Subresource::None, "0").await.unwrap();
        plane.webhook.calls() > before
    };
    assert!(converts(&plane, "a").await && converts(&plane, "b").await);
    assert!(!converts(&plane, "a").await && !converts(&plane, "b").await, "both are kept");
    assert!(converts(&plane, "c").await && converts(&plane, "a").await, "there is no room for three");
    assert!(!converts(&plane, "c").await);
    definition["spec"]["names"]["categories"] = json!(["other"]);
    plane.v1 = common::serve(&plane.registry, &definition).await;
    assert!(converts(&plane, "c").await);
}
