//! Benchmarks of start-up time, idle cost and size.

use anyhow::Result;
use http::Method;

use crate::bench::Bench;
use crate::objects::{LOADS, definition, load};
use crate::server::Server;

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    bench.figure("exec to ready, all CRDs and controllers", "s", ready).await?;
    bench.figure("exec to the first object of a new CRD stored", "s", first_object).await?;
    bench.figure("memory idle", "MB", idle).await?;
    bench.figure("binary, stripped", "MB", size).await
}

async fn ready(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    Ok((bench.clock.monotonic() - server.started).as_secs_f64())
}

async fn first_object(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.send(Method::POST, definitions, "application/json", Some(&definition())).await?;
    server.send(Method::POST, LOADS, "application/json", Some(&load(0))).await?;
    Ok((bench.clock.monotonic() - server.started).as_secs_f64())
}

async fn idle(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    bench.clock.sleep(std::time::Duration::from_secs(3)).await;
    server.memory()
}

async fn size(bench: &Bench) -> Result<f64> {
    Ok(std::fs::metadata(&bench.binary)?.len() as f64 / 1e6)
}
