//! Reports to the server that installed the machine (`docs/bootstrap-reports.md`).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

/// Time within which the server must answer.
const ANSWER: Duration = Duration::from_secs(30);
/// The host may just be written by a controller, so a report is sent several times.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// The place for reports.
pub struct Reports {
    server: String,
    path: String,
}

impl Reports {
    /// Reads the URL.
    ///
    /// # Errors
    /// The URL is not one of HTTP.
    pub fn new(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("http://").with_context(|| format!("the URL {url}"))?;
        let (server, path) = rest.split_once('/').with_context(|| format!("the URL {url}"))?;
        Ok(Self { server: server.to_owned(), path: format!("/{path}") })
    }

    /// Sends a report until it is recorded.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn send(&self, state: &str, message: &str) -> Result<()> {
        let body = json!({"state": state, "stage": "stand-in", "message": message}).to_string();
        let mut last = String::new();
        for _ in 0..TRIES {
            match self.post(&body) {
                Ok(204) => return Ok(()),
                Ok(503) => last = "503".to_owned(),
                Ok(status) => bail!("the report {state} is answered with {status}"),
                Err(error) => last = format!("{error:#}"),
            }
            // It runs outside of the simulation, in a machine whose only clock is its own.
            #[expect(clippy::disallowed_methods, reason = "a program of a virtual machine")]
            sleep(PAUSE);
        }
        bail!("the report {state} is not taken: {last}")
    }

    fn post(&self, body: &str) -> Result<u16> {
        let mut stream = TcpStream::connect(&self.server)?;
        stream.set_read_timeout(Some(ANSWER))?;
        let (path, server, length) = (&self.path, &self.server, body.len());
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or_default();
        ensure!(!status.is_empty(), "no answer of HTTP");
        Ok(status.parse()?)
    }
}
