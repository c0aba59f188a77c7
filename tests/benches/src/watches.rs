//! Benchmarks of many watches: the memory of 10,000 idle ones, and an event to 200 watchers compared with the
//! cost of encryption and socket alone.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::json;

use crate::bench::Bench;
use crate::http2::{Connection, connect};
use crate::objects::{LOADS, definition, large};
use crate::server::Server;
use crate::wire;

const IDLE: usize = 10_000;
/// Watches per connection; the server allows 250.
const SHARED: usize = 200;
const WATCHERS: usize = 200;
const CONNECTIONS: usize = 4;
const UPDATES: usize = 250;
const UPDATES_A_SECOND: f64 = 50.0;

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    bench.figure("memory of 10,000 idle watches", "MB", async |bench| idle(bench).await).await?;
    bench
        .figure("server CPU per event of 11 KB to 200 watchers, the update included", "µs", async |bench| {
            events(bench).await
        })
        .await?;
    bench
        .figure("… CPU to encrypt 11 KB and write it to a socket, nothing else", "µs", async |bench| {
            wire::cost(&bench.clock)
        })
        .await
}

async fn prepared(bench: &Bench) -> Result<Server> {
    let server = Server::start(&bench.binary, &["--controllers", "none"], &bench.clock).await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.send(Method::POST, definitions, "application/json", Some(&definition())).await?;
    server.send(Method::POST, LOADS, "application/json", Some(&large(0))).await?;
    Ok(server)
}

async fn watch(mut connection: Connection, port: u16) -> Result<Incoming> {
    let uri = format!("https://127.0.0.1:{port}{LOADS}?watch=true&allowWatchBookmarks=true");
    let answer = connection.send_request(Request::get(uri).body(Full::new(Bytes::new()))?).await?;
    ensure!(answer.status().is_success(), "a watch was refused with {}", answer.status());
    Ok(answer.into_body())
}

async fn idle(bench: &Bench) -> Result<f64> {
    let server = prepared(bench).await?;
    let before = server.memory()?;
    let mut watches = Vec::with_capacity(IDLE);
    for _ in 0..IDLE / SHARED {
        let connection = connect(&server.kubeconfig()).await?;
        let more = (0..SHARED).map(|_| watch(connection.clone(), server.port));
        watches.extend(try_join_all(more).await?);
    }
    Ok(server.memory()? - before)
}

async fn events(bench: &Bench) -> Result<f64> {
    let server = prepared(bench).await?;
    let mut readers = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = connect(&server.kubeconfig()).await?;
        for _ in 0..WATCHERS / CONNECTIONS {
            let mut body = watch(connection.clone(), server.port).await?;
            // The existing object, and each update of it.
            readers.push(tokio::spawn(async move { lines(&mut body, 1 + UPDATES).await }));
        }
    }
    let before = server.cpu()?;
    let pause = Duration::from_secs_f64(1.0 / UPDATES_A_SECOND);
    let path = format!("{LOADS}/load-000000/status");
    for update in 0..UPDATES {
        let status = json!({"status": {"phase": format!("phase-{update}")}});
        server.send(Method::PATCH, &path, "application/merge-patch+json", Some(&status)).await?;
        bench.clock.sleep(pause).await;
    }
    for reader in readers {
        reader.await??;
    }
    Ok((server.cpu()? - before) * 1e6 / (UPDATES * WATCHERS) as f64)
}

/// Reads until this many lines have arrived.
async fn lines(body: &mut Incoming, wanted: usize) -> Result<()> {
    let mut seen = 0;
    while seen < wanted {
        let frame = body.frame().await.context("a watch ended")??;
        let data = frame.into_data().unwrap_or_default();
        seen += data.iter().filter(|byte| **byte == b'\n').count();
    }
    Ok(())
}
