//! The check of a server: `GET /readyz` over TLS, as haproxy of CAPD asks for `/healthz`. Nobody can know the certificate of a server, and what
//! is behind it is not trusted: clients check it themselves.

use std::fmt::Display;
use std::io::ErrorKind;
use std::net::SocketAddrV4;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls_pki_types::{IpAddr, Ipv4Addr, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::limits;

/// What a check has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server is ready.
    Ready,
    /// It answers, and is not ready: why.
    NotReady(String),
    /// It answers, and says nothing of that to anybody: an API server that starts, and one that refuses anonymous requests.
    Forbidden(String),
    /// It takes connections, and does not answer in time.
    Silent(String),
    /// It takes no connection: why.
    Unreachable(String),
}

/// Checks servers.
pub(crate) struct Checks(TlsConnector);

impl Checks {
    pub(crate) fn new() -> Result<Self> {
        let config = pki::tls::client_config_for_anyone().context("TLS cannot be used")?;
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Checks a server once.
    pub(crate) async fn ask(&self, server: SocketAddrV4) -> Outcome {
        let stream = match timeout(limits::CHECK, TcpStream::connect(server)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Outcome::Unreachable(error.to_string()),
            Err(_) => return Outcome::Unreachable(late("no connection")),
        };
        match timeout(limits::CHECK, self.get(stream, server)).await {
            Ok(Ok(line)) => judge(&line),
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                Outcome::NotReady("it ends the connection before it answers /readyz".to_owned())
            }
            Ok(Err(error)) => Outcome::NotReady(error.to_string()),
            Err(_) => Outcome::Silent(late("no answer to /readyz")),
        }
    }

    /// Returns the first line of the answer.
    async fn get(&self, stream: TcpStream, server: SocketAddrV4) -> std::io::Result<String> {
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from(server.ip().octets())));
        let mut stream = self.0.connect(name, stream).await?;
        let request = format!(
            "GET /readyz HTTP/1.1\r\nHost: {server}\r\nUser-Agent: firstlight-balancer\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let (mut answer, mut length) = ([0; limits::ANSWER], 0);
        while length < answer.len() && !answer[..length].contains(&b'\n') {
            match stream.read(&mut answer[length..]).await? {
                0 => break,
                read => length += read,
            }
        }
        let text = String::from_utf8_lossy(&answer[..length]);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }
}

fn late(what: &str) -> String {
    format!("{what} within {} s", limits::CHECK.as_secs())
}

/// Judges the first line of an answer.
fn judge(line: &str) -> Outcome {
    let code = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    let not_ready = |what: &dyn Display| Outcome::NotReady(format!("/readyz is answered with {what}"));
    match code {
        Some("200") => Outcome::Ready,
        Some(code @ ("401" | "403")) => Outcome::Forbidden(format!("/readyz is answered with {code}")),
        Some(code) if code.bytes().all(|byte| byte.is_ascii_digit()) => not_ready(&code),
        _ => not_ready(&"something that is not HTTP"),
    }
}
