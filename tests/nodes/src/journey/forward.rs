//! A port of this machine that leads to a Service.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::run::until;
use crate::server::Server;
use crate::workload::NODE_PORT;

/// The longest time for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// A port of this machine. The suite has a network of its own.
const PORT: u16 = 8080;

/// Checks that the Service answers at a port of this machine while `nodes forward` runs, and no longer.
///
/// # Errors
/// It does not.
pub async fn run(server: &Server) -> Result<()> {
    let mut forward = server.nodes(&["forward", &format!("{PORT}:{NODE_PORT}"), "--cluster", "local"])?;
    until("the Service answers at a port of this machine", ANSWER, async || {
        let answer = get().await?;
        ensure!(answer.contains("200 OK") && answer.contains("web-"), "it answers {answer:?}");
        Ok(())
    })
    .await?;
    forward.kill().await?;
    ensure!(TcpStream::connect(("127.0.0.1", PORT)).await.is_err(), "the port is open without the command");
    Ok(())
}

async fn get() -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", PORT)).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
