//! The instructions of a GET with the API server's own listener, and with axum between (docs/decisions/http-routing.md):
//! `cargo bench -p firstlight-apiserver-tests --bench fallback`, which needs valgrind.
//!
//! A client in the same thread asks for an object of 3.4 KB over one connection in memory. Start and end are subtracted.
#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use access::authorize::AllowAll;
use anyhow::{Context as _, Result, bail, ensure};
use axum::Router;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use machinery::clock::Clock;
use machinery::random::Random;
use metrics::{Limits, Metrics};
use net::server::{Patience, Peer, Times, Waiting};
use registry::{Context, Input, Options, Registry};
use serde_json::json;
use serving::{Listener, Server};
use store::{Memory, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// What answers, in the order of the figures.
const STACKS: [&str; 4] = ["serving::Listener", "hyper", "hyper and axum's fallback", "net::server"];
const FEW: u64 = 1000;
const MANY: u64 = 3000;
const TIME: Duration = Duration::from_secs(60);
const GET: &[u8] =
    b"GET /api/v1/namespaces/default/configmaps/one HTTP/1.1\r\nhost: a\r\naccept: application/json\r\n\r\n";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [stack, count] = arguments.as_slice() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(ask(stack, count.parse()?));
    }
    for stack in STACKS {
        println!("{stack}: {}", (instructions(stack, MANY)? - instructions(stack, FEW)?) / (MANY - FEW));
    }
    Ok(())
}

/// Returns the instructions of a process of this program that sends `count` requests.
fn instructions(stack: &str, count: u64) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe()?);
    let output = valgrind.args([stack, &count.to_string()]).output().context("valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{text}");
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")).context("no figure")?.1;
    Ok(collected.trim().parse()?)
}

async fn ask(stack: &str, count: u64) -> Result<()> {
    let (mut client, other) = tokio::io::duplex(64 << 10);
    tokio::spawn(serve(stack.to_owned(), server().await?, other));
    client.write_all(GET).await?;
    let mut answer = vec![0; length_of_answer(&mut client).await?];
    for _ in 0..count {
        client.write_all(GET).await?;
        client.read_exact(&mut answer).await?;
    }
    ensure!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    std::process::exit(0)
}

/// Reads an answer.
async fn length_of_answer(client: &mut DuplexStream) -> Result<usize> {
    let mut text = String::new();
    loop {
        text.push(char::from(client.read_u8().await?));
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() == length.context("no length")?.parse::<usize>()? {
                return Ok(text.len());
            }
        }
    }
}

async fn server() -> Result<Server> {
    let (clock, random) = (Clock::system(), Random::system());
    let store = Store::open(Memory::default(), clock.clone()).await?;
    let registry = Registry::open(store, clock.clone(), random, Options::default()).await?;
    let metadata = json!({"name": "one", "namespace": "default"});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": "x".repeat(3400)}});
    let maps = registry.served("", "v1", "configmaps").context("not served")?;
    registry.create(&mut Context::internal("bench"), &maps, "default", Input::new(object)).await?;
    Ok(Server::builder(registry, clock).authorizer(AllowAll).build())
}

async fn serve(stack: String, server: Server, stream: DuplexStream) -> Result<()> {
    let router = Router::new().fallback_service(server.clone());
    match STACKS.iter().position(|one| *one == stack) {
        Some(0) => Listener::new(server, None).serve_stream(stream).await,
        Some(1) => hyper(server, stream).await?,
        Some(2) => hyper(router, stream).await?,
        Some(_) => {
            let times =
                Times { head: (TIME, None), handshake: (TIME, ""), stalled: (Patience::All(TIME), "") };
            let (limits, random) = (Limits::of(&Metrics::default()), Random::system());
            let server = net::server::Server::new(router, None, times, Waiting::new(1), limits, &random);
            let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
            let peer = Peer { address: nobody, local: nobody, certificates: Arc::default() };
            server.connection(Box::new(stream), peer).await;
        }
        None => bail!("there is no {stack}"),
    }
    Ok(())
}

async fn hyper<S, B>(service: S, stream: DuplexStream) -> hyper::Result<()>
where
    S: tower_service::Service<
            Request<Incoming>,
            Response = Response<B>,
            Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        > + Clone,
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>> + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(TIME);
    http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await
}
