//! Tests of discovery, OpenAPI, version and health.

use crate::serving::http::common::{Harness, crd};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn plain_discovery() {
    let harness = Harness::with_widgets().await;
    assert_eq!(harness.get("/api").await.json()["versions"], json!(["v1"]));
    let groups = harness.get("/apis").await.json();
    let names: Vec<&str> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&"golden.test"), "{names:?}");
    let group = harness.get("/apis/golden.test").await.json();
    assert_eq!(group["preferredVersion"], json!({"groupVersion": "golden.test/v1", "version": "v1"}));
    let resources = harness.get("/apis/golden.test/v1").await.json();
    let names: Vec<&Value> =
        resources["resources"].as_array().unwrap().iter().map(|resource| &resource["name"]).collect();
    assert_eq!(names, ["gizmos", "gizmos/status", "widgets", "widgets/status"]);
    assert_eq!(harness.get("/apis/golden.test/v2").await.text(), "404 page not found\n");
    // The list of groups answers every method, as in kube-apiserver.
    assert_eq!(harness.call("POST", "/apis", &[], b"").await.code, 200);
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[tokio::test(start_paused = true)]
async fn aggregated_discovery_and_its_cache() {
    let harness = Harness::with_widgets().await;
    let first = harness.accept("/apis", AGGREGATED).await;
    assert_eq!(first.header("content-type"), AGGREGATED);
    let tag = first.header("etag").to_owned();
    let headers = [("accept", AGGREGATED), ("if-none-match", tag.as_str())];
    let again = harness.call("GET", "/apis", &headers, b"").await;
    assert_eq!((again.code, again.bytes.len()), (304, 0));
    harness
        .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd("news", "New", "Cluster"))
        .await;
    let changed = harness.call("GET", "/apis", &headers, b"").await;
    assert_eq!(changed.code, 200);
    let items = changed.json()["items"].clone();
    let group =
        items.as_array().unwrap().iter().find(|one| one["metadata"]["name"] == "golden.test").unwrap();
    let resources = group["versions"][0]["resources"].as_array().unwrap();
    let names: Vec<&Value> = resources.iter().map(|resource| &resource["resource"]).collect();
    assert_eq!(names, ["gizmos", "news", "widgets"]);
    assert_eq!(resources[0]["subresources"][0]["subresource"], "status");
    for (accept, code, kind) in [
        (
            "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json",
            200,
            "APIGroupList",
        ),
        ("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", 406, "Status"),
        ("text/plain", 406, "Status"),
    ] {
        let answer = harness.accept("/apis", accept).await;
        assert_eq!((answer.code, answer.json()["kind"].clone()), (code, kind.into()), "{accept}");
    }
}

#[tokio::test(start_paused = true)]
async fn openapi_v3() {
    let harness = Harness::with_widgets().await;
    let index = harness.get("/openapi/v3").await;
    assert_eq!(index.header("content-type"), "text/plain; charset=utf-8");
    let url = index.json()["paths"]["apis/golden.test/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let document = harness.get(&url).await;
    assert_eq!(document.code, 200);
    let document = document.json();
    let schema = &document["components"]["schemas"]["test.golden.v1.Widget"];
    assert_eq!(schema["properties"]["spec"]["properties"]["size"], json!({"type": "integer"}));
    let kinds = json!([{"group": "golden.test", "kind": "Widget", "version": "v1"}]);
    assert_eq!(schema["x-kubernetes-group-version-kind"], kinds);
    let path = "/apis/golden.test/v1/namespaces/{namespace}/widgets/{name}";
    assert_eq!(document["paths"][path]["get"]["operationId"], "readGoldenTestV1NamespacedWidget");
    every_reference_resolves(&document, &document);
    let moved = harness.get("/openapi/v3/apis/golden.test/v1?hash=0").await;
    assert_eq!((moved.code, moved.header("location")), (301, url.as_str()));
    assert_eq!(harness.get("/openapi/v3/apis/golden.test/v9").await.code, 404);
    for path in index.json()["paths"].as_object().unwrap().keys() {
        let document = harness.get(&format!("/openapi/v3/{path}")).await.json();
        every_reference_resolves(&document, &document);
    }
}

fn every_reference_resolves(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                assert!(document.pointer(&target[1..]).is_some(), "{target}");
            }
            fields.values().for_each(|value| every_reference_resolves(document, value));
        }
        Value::Array(items) => items.iter().for_each(|value| every_reference_resolves(document, value)),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn openapi_v2() {
    let harness = Harness::with_widgets().await;
    let json = harness.get("/openapi/v2").await.json();
    assert_eq!(json["swagger"], "2.0");
    every_reference_resolves(&json, &json);
    // From these, kubectl before 1.27 learns that the server supports `diff`.
    let patch = &json["paths"]["/apis/golden.test/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Widget");
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|one| one["name"] == "dryRun" && one["in"] == "query"), "{parameters:?}");
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let protobuf = harness.accept("/openapi/v2", accept).await;
    assert_eq!(protobuf.header("content-type"), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    // Field 1 is `swagger`.
    assert!(protobuf.bytes.starts_with(b"\x0a\x032.0"));
    assert!(String::from_utf8_lossy(&protobuf.bytes).contains("dryRun"));
    let known = [("if-none-match", "*")];
    assert_eq!(harness.call("GET", "/openapi/v2", &known, b"").await.code, 304);
}

#[tokio::test(start_paused = true)]
async fn health_and_version() {
    let mut harness = Harness::new().await;
    harness.user = None;
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = harness.get(path).await;
        assert_eq!((answer.code, answer.text().as_str()), (200, "ok"), "{path}");
    }
    assert_eq!(harness.get("/version").await.json()["major"], "1");
    assert_eq!(harness.get("/healthz/ping").await.code, 403);
    harness.user = Some(::access::User::master("admin"));
    assert_eq!(harness.get("/healthz/ping").await.text(), "ok");
    assert_eq!(harness.get("/livez/nope").await.text(), "404 page not found\n");
    let verbose = harness.get("/readyz?verbose").await.text();
    assert!(verbose.starts_with("[+]ping ok\n"), "{verbose}");
    assert!(verbose.ends_with("readyz check passed\n"), "{verbose}");
}

/// client-go sends protobuf for built-in kinds. Definitions and API services are known gaps; options are
/// query parameters.
#[tokio::test(start_paused = true)]
async fn every_built_in_kind_that_is_written_may_be_protobuf() {
    let harness = Harness::new().await;
    let mut lists = vec!["/api/v1".to_owned()];
    for group in harness.get("/apis").await.json()["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            lists.push(format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
        }
    }
    let mut unknown = Vec::new();
    for list in lists {
        let home = list.trim_start_matches("/apis/").trim_start_matches("/api/");
        for resource in harness.get(&list).await.json()["resources"].as_array().unwrap() {
            let text = |field: &str| resource[field].as_str().filter(|text| !text.is_empty());
            let version = match (text("group"), text("version")) {
                (Some(group), Some(version)) => format!("{group}/{version}"),
                _ => home.to_owned(),
            };
            let kind = text("kind").unwrap();
            let writes = |verb: &serde_json::Value| verb == "create" || verb == "update";
            let written = resource["verbs"].as_array().unwrap().iter().any(writes);
            let excepted =
                kind.ends_with("Options") || ["CustomResourceDefinition", "APIService"].contains(&kind);
            if written && !excepted && !kinds::protobuf::is_known(&version, kind) {
                unknown.push(format!("{list}/{}: {version} {kind}", resource["name"]));
            }
        }
    }
    assert_eq!(unknown, [""; 0]);
}
