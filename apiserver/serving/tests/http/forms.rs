//! Forms of responses: YAML, Table, partial metadata, compression, warnings.

use std::io::Read;

use crate::serving::http::common::{Harness, WIDGETS, widget};
use serde_json::{Value, json};
use serving::testing::limits;

#[tokio::test(start_paused = true)]
async fn one_object_in_each_form() {
    let harness = Harness::with_widgets().await;
    harness.post(WIDGETS, &widget("a", 1)).await;
    let path = format!("{WIDGETS}/a");
    let yaml = harness.accept(&path, "application/yaml").await;
    assert_eq!(yaml.header("content-type"), "application/yaml");
    let read = machinery::decode::yaml(&yaml.bytes).unwrap().value;
    assert_eq!(read, harness.get(&path).await.json());
    let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let partial = harness.accept(&path, partial).await.json();
    assert_eq!(partial["kind"], "PartialObjectMetadata");
    assert_eq!(partial["metadata"], read["metadata"]);
    assert_eq!(partial.get("spec"), None);
    let pretty = harness.get(&format!("{path}?pretty=true")).await;
    assert!(pretty.text().starts_with("{\n  \"apiVersion\""), "{}", pretty.text());
    let html = harness.accept(&path, "text/html").await;
    assert_eq!((html.code, html.json()["reason"].clone()), (406, "NotAcceptable".into()));
    let protobuf = harness.accept(&path, "application/vnd.kubernetes.protobuf").await;
    assert_eq!(protobuf.code, 406);
    assert!(protobuf.bytes.starts_with(b"k8s\0"));
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

#[tokio::test(start_paused = true)]
async fn tables() {
    let harness = Harness::with_widgets().await;
    harness.post(WIDGETS, &widget("a", 7)).await;
    let table = harness.accept(WIDGETS, TABLE).await.json();
    assert_eq!((&table["kind"], &table["apiVersion"]), (&"Table".into(), &"meta.k8s.io/v1".into()));
    let columns: Vec<&Value> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Name", "Size"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 7]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let whole = harness.accept(&format!("{WIDGETS}/a?includeObject=Object"), TABLE).await.json();
    assert_eq!(whole["rows"][0]["object"]["spec"], json!({"size": 7}));
    let none = harness.accept(&format!("{WIDGETS}/a?includeObject=None"), TABLE).await.json();
    assert_eq!(none["rows"][0]["object"], Value::Null);
    let bad = harness.accept(&format!("{WIDGETS}/a?includeObject=Bogus"), TABLE).await;
    assert_eq!(bad.code, 400, "{}", bad.text());
    let missing = harness.accept(&format!("{WIDGETS}/zz"), TABLE).await.json();
    assert_eq!(missing["kind"], "Status");
}

#[tokio::test(start_paused = true)]
async fn large_answers_are_compressed() {
    let harness = Harness::new().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let body = |size| json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(size)}});
    harness.post(path, &body(1000)).await;
    let gzip = [("accept-encoding", "gzip")];
    let small = harness.call("GET", path, &gzip, b"").await;
    assert_eq!(small.header("content-encoding"), "");
    harness.call("DELETE", &format!("{path}/a"), &[], b"").await;
    harness.post(path, &body(limits::GZIP_FROM_BYTES)).await;
    let plain = harness.get(path).await;
    assert_eq!(plain.header("content-encoding"), "");
    let large = harness.call("GET", path, &gzip, b"").await;
    assert_eq!(large.header("content-encoding"), "gzip");
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(large.bytes.as_slice()).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.bytes);
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_warned_about() {
    let harness = Harness::with_widgets().await;
    let mut object = widget("a", 1);
    object["spec"]["bogus"] = 1.into();
    let created = harness.post(WIDGETS, &object).await;
    assert_eq!(created.code, 201, "{}", created.text());
    assert_eq!(created.header("warning"), "299 - \"unknown field \\\"spec.bogus\\\"\"");
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Decodes an object that was returned as protobuf.
fn decoded(bytes: &[u8]) -> Value {
    kinds::protobuf::decode(bytes, None).unwrap()
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_as_protobuf() {
    let harness = Harness::with_widgets().await;
    let path = "/api/v1/namespaces/default/secrets";
    let secret =
        json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "AAH/"}, "type": "Opaque"});
    let sent = [("content-type", "application/json"), ("accept", PROTOBUF)];
    let created = harness.call("POST", path, &sent, secret.to_string().as_bytes()).await;
    assert_eq!((created.code, created.header("content-type")), (201, PROTOBUF));
    let got = harness.accept(&format!("{path}/a"), PROTOBUF).await;
    assert_eq!(decoded(&got.bytes), harness.get(&format!("{path}/a")).await.json());
    assert_eq!(decoded(&created.bytes), decoded(&got.bytes));
    // The header that clients send: protobuf, or JSON if that is not available.
    let either = format!("{PROTOBUF},application/json");
    let list = harness.accept(path, &either).await;
    assert_eq!((list.code, list.header("content-type")), (200, PROTOBUF));
    let partial = format!("{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    harness.post(WIDGETS, &widget("a", 1)).await;
    let metadata = harness.accept(&format!("{WIDGETS}/a"), &partial).await;
    let metadata = decoded(&metadata.bytes);
    assert_eq!(metadata["kind"], "PartialObjectMetadata");
    assert_eq!(metadata["metadata"], harness.get(&format!("{WIDGETS}/a")).await.json()["metadata"]);
    let custom = harness.accept(WIDGETS, &either).await;
    assert_eq!(custom.header("content-type"), "application/json");
    let table = format!("{PROTOBUF};as=Table;v=v1;g=meta.k8s.io");
    assert_eq!(harness.accept(path, &table).await.code, 406);
    let deleted = harness.call("DELETE", &format!("{path}/a"), &[("accept", PROTOBUF)], b"").await;
    assert!(deleted.bytes.starts_with(b"k8s\0"), "{}", deleted.text());
    for path in ["/apis", "/apis/golden.test"] {
        let found = harness.accept(path, PROTOBUF).await;
        assert_eq!((found.code, found.header("content-type")), (200, PROTOBUF), "{path}");
        assert_eq!(decoded(&found.bytes), harness.accept(path, "application/json").await.json(), "{path}");
    }
    // False and empty fields are absent after decoding protobuf.
    let resources = decoded(&harness.accept("/apis/golden.test/v1", PROTOBUF).await.bytes);
    let json = harness.get("/apis/golden.test/v1").await.json();
    for (found, wanted) in
        resources["resources"].as_array().unwrap().iter().zip(json["resources"].as_array().unwrap())
    {
        for key in ["name", "kind", "verbs", "shortNames", "storageVersionHash"] {
            assert_eq!(found[key], wanted[key], "{key} of {wanted}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_frames() {
    let harness = Harness::new().await;
    let path = "/api/v1/namespaces/default/configmaps";
    harness.post(path, &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await;
    let watch = format!("{path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da");
    let answer = harness.accept(&watch, &format!("{PROTOBUF};stream=watch")).await;
    assert_eq!(answer.header("content-type"), format!("{PROTOBUF};stream=watch"));
    let (length, frame) = answer.bytes.split_at(4);
    assert_eq!(u32::from_be_bytes(length.try_into().unwrap()) as usize, frame.len());
    // A `WatchEvent` has the type and a `RawExtension` around the object.
    assert_eq!(frame.get(..7), Some(&b"\x0a\x05ADDED"[..]));
    let start = frame.windows(4).position(|window| window == b"k8s\0").unwrap();
    assert_eq!(decoded(&frame[start..]), harness.get(&format!("{path}/a")).await.json());
}
