//! An HTTP server that installed systems call.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::lab::ADDRESS;

/// Port at the lab's address.
pub const PORT: u16 = 8090;

/// Maximum length of a call in bytes.
const CALL: usize = 64 * 1024;

/// Receives calls (HTTP requests with a body), and answers each with 200.
pub struct Calls(mpsc::UnboundedReceiver<String>);

impl Calls {
    /// Starts to listen.
    ///
    /// # Errors
    /// Fails if the port is in use.
    pub async fn listen() -> Result<Self> {
        let listener = TcpListener::bind((ADDRESS, PORT)).await?;
        let (heard, calls) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(body) = take(stream).await {
                    let _ = heard.send(body);
                }
            }
        });
        Ok(Self(calls))
    }

    /// Waits for the next call and returns its body.
    ///
    /// # Errors
    /// Fails if none arrives within `deadline`.
    pub async fn heard(&mut self, deadline: Duration) -> Result<String> {
        let call = tokio::time::timeout(deadline, self.0.recv()).await;
        call.with_context(|| format!("nobody has called within {deadline:?}"))?.context("nobody listens")
    }
}

async fn take(stream: TcpStream) -> Result<String> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", number)) => length = number.trim().parse::<usize>()?.min(CALL),
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}
