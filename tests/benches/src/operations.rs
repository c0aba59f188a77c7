//! CPU time of the server per operation, with 5,000 objects of 3.4 KB and 16 clients.

use anyhow::Result;
use futures::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::objects::{LOADS, definition, load};
use crate::server::Server;

const OBJECTS: usize = 5_000;
const CLIENTS: usize = 16;

/// Runs these benchmarks: one server per round, with all operations.
pub async fn run(bench: &Bench) -> Result<()> {
    let figures = [
        ("server CPU per create", "ms"),
        ("server CPU per status patch", "ms"),
        ("server CPU per apply that changes", "ms"),
        ("server CPU per GET", "ms"),
        ("server CPU per list of 5,000", "ms"),
        ("memory with 5,000 objects of 3.4 KB, after the load", "MB"),
    ];
    bench.figures(&figures, round).await
}

/// Runs the load and returns its figures.
async fn round(bench: &Bench) -> Result<Vec<f64>> {
    let server = Server::start(&bench.binary, &["--controllers", "none"], &bench.clock).await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.send(Method::POST, definitions, "application/json", Some(&definition())).await?;
    let path = |n: usize| format!("{LOADS}/load-{n:06}");
    let mut figures = Vec::new();

    let operations: [(&str, usize); 5] =
        [("create", OBJECTS), ("status", OBJECTS), ("apply", 2_000), ("get", OBJECTS), ("list", 10)];
    for (operation, count) in operations {
        let before = server.cpu()?;
        let one = |n: usize| {
            let server = &server;
            let path = path(n);
            async move {
                match operation {
                    "create" => server.send(Method::POST, LOADS, "application/json", Some(&load(n))).await,
                    "status" => {
                        server
                            .send(
                                Method::PATCH,
                                &format!("{path}/status"),
                                "application/merge-patch+json",
                                Some(&status(n)),
                            )
                            .await
                    }
                    "apply" => {
                        let query = format!("{path}?fieldManager=bench&force=true");
                        server
                            .send(Method::PATCH, &query, "application/apply-patch+yaml", Some(&changed(n)))
                            .await
                    }
                    "get" => server.send(Method::GET, &path, "", None).await,
                    _ => server.send(Method::GET, LOADS, "", None).await,
                }
            }
        };
        stream::iter((0..count).map(one))
            .buffer_unordered(CLIENTS)
            .try_for_each(|_| async { Ok(()) })
            .await?;
        figures.push((server.cpu()? - before) * 1000.0 / count as f64);
    }
    figures.push(server.memory()?);
    Ok(figures)
}

fn status(number: usize) -> Value {
    json!({"status": {"phase": format!("phase-{number}"), "conditions": [
        {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn changed(number: usize) -> Value {
    let mut object = load(number);
    object["spec"]["field0"] = "changed".into();
    object
}
