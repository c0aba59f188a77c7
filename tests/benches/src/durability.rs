//! Durable creates per second: through the whole server, and with the store's engine alone, in the same run
//! on the same disk.

use anyhow::Result;
use futures::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use store::{DataDirectory, Embedded, Key, Operation, Store};

use crate::bench::Bench;
use crate::objects::{LOADS, definition, load};
use crate::server::Server;

const CLIENTS: usize = 64;
const OBJECTS: usize = 10_000;

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    bench
        .figure("acknowledged durable creates, 64 clients", "1/s", async |bench| through_server(bench).await)
        .await?;
    bench.figure("… by the bare engine", "1/s", async |bench| bare(bench).await).await
}

async fn through_server(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &["--controllers", "none"], &bench.clock).await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.send(Method::POST, definitions, "application/json", Some(&definition())).await?;
    let began = bench.clock.monotonic();
    stream::iter((0..OBJECTS).map(|n| {
        let server = &server;
        async move { server.send(Method::POST, LOADS, "application/json", Some(&load(n))).await }
    }))
    .buffer_unordered(CLIENTS)
    .try_for_each(|_| async { Ok(()) })
    .await?;
    Ok(OBJECTS as f64 / (bench.clock.monotonic() - began).as_secs_f64())
}

async fn bare(bench: &Bench) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let store =
        Store::open(Embedded::open(&DataDirectory::open(folder.path())?)?, bench.clock.clone()).await?;
    let began = bench.clock.monotonic();
    stream::iter((0..OBJECTS).map(|n| {
        let store = &store;
        async move {
            let key = Key::new("bench.test", "loads", Some("default"), &format!("load-{n:06}"))?;
            let value = serde_json::to_vec(&load(n))?;
            store.commit(vec![Operation::create(key, move |_| value.into())]).await?;
            anyhow::Ok(())
        }
    }))
    .buffer_unordered(CLIENTS)
    .try_for_each(|()| async { Ok(()) })
    .await?;
    Ok(OBJECTS as f64 / (bench.clock.monotonic() - began).as_secs_f64())
}
