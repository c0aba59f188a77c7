//! Tests templates whose results were recorded with clusterctl 1.14: `data/envsubst.json`, and special cases of the same forms in
//! `data/envsubst-corners.json`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

use std::collections::BTreeMap;

use clusterctl::configuration::{Configuration, Environment};
use clusterctl::network::{Answer, Network, Request};
use clusterctl::template::{Template, Wanted};
use futures::future::BoxFuture;
use serde_json::Value;

struct Nowhere;

impl Network for Nowhere {
    fn get(&self, request: Request) -> BoxFuture<'_, clusterctl::Result<Answer>> {
        Box::pin(async move { panic!("nothing is fetched: {}", request.url) })
    }
}

const RECORDED: [&str; 2] = [include_str!("data/envsubst.json"), include_str!("data/envsubst-corners.json")];

async fn configuration(recorded: &Value) -> Configuration {
    let variables: BTreeMap<String, String> =
        serde_json::from_value(recorded["environment"].clone()).unwrap();
    Configuration::load(None, Environment::fixed(variables), &Nowhere).await.unwrap()
}

/// The document in which templates were recorded.
fn document(template: &str) -> String {
    format!("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: x\ndata:\n  v: |\n    {template}\n")
}

/// Exit code, standard output and standard error of `generate yaml`.
fn outcome(result: clusterctl::Result<String>) -> (i64, String, String) {
    match result {
        Ok(text) => (0, text, String::new()),
        Err(error) => (1, String::new(), format!("Error: {error}\n")),
    }
}

fn expected(case: &Value) -> (i64, String, String) {
    let text = |key: &str| case[key].as_str().unwrap().to_owned();
    (case["exit"].as_i64().unwrap(), text("stdout"), text("stderr"))
}

#[tokio::test]
async fn recorded_cases() {
    for recorded in RECORDED {
        check(&serde_json::from_str(recorded).unwrap()).await;
    }
}

async fn check(recorded: &Value) {
    let configuration = configuration(recorded).await;
    let mut wrong = Vec::new();
    let cases = recorded["cases"].as_array().unwrap();
    for case in cases {
        let template = case["template"].as_str().unwrap();
        let text = document(template);
        let read = |variables_only| {
            let wanted = Wanted { namespace: None, variables_only };
            Template::read(text.as_bytes(), &configuration, &wanted)
        };
        let processed = outcome(read(false).and_then(|template| template.text()));
        let listed = outcome(read(true).map(|template| template.list()));
        for (found, expected) in [(processed, expected(case)), (listed, expected(&case["listVariables"]))] {
            if found != expected {
                wrong.push(format!("{template}\n  expected {expected:?}\n  found    {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
