//! Forms of answers: YAML, Table, partial metadata, compression, warnings.

use std::io::Read;

use crate::common::{Harness, WIDGETS, widget};
use serde_json::{Value, json};
use serving::limits;

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
