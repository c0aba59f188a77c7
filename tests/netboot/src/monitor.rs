//! QEMU's monitor protocol (QMP): lines of JSON over a socket.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::wait::until;

/// Limit for QEMU to open its socket, which happens before the machine starts.
const DEADLINE: Duration = Duration::from_secs(30);

/// A connection to QEMU's monitor.
pub struct Monitor(BufReader<UnixStream>);

impl Monitor {
    /// Connects to the monitor.
    ///
    /// # Errors
    /// Fails if nothing listens on the socket.
    pub async fn connect(socket: &Path) -> Result<Self> {
        let stream =
            until("QEMU's monitor", DEADLINE, || async { UnixStream::connect(socket).await.ok() }).await?;
        let mut monitor = Self(BufReader::new(stream));
        monitor.ask("qmp_capabilities", json!({})).await?;
        Ok(monitor)
    }

    /// Executes a command and waits for its response; events are ignored.
    ///
    /// # Errors
    /// Returns QEMU's error.
    pub async fn ask(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let request = json!({"execute": command, "arguments": arguments});
        self.0.get_mut().write_all(format!("{request}\n").as_bytes()).await?;
        let answer = async {
            loop {
                let mut line = String::new();
                if self.0.read_line(&mut line).await? == 0 {
                    bail!("QEMU has ended");
                }
                let answer: Value = serde_json::from_str(&line)?;
                match (answer.get("return"), answer.get("error")) {
                    (Some(result), _) => return Ok(result.clone()),
                    (None, Some(error)) => bail!("{command}: {}", error["desc"]),
                    (None, None) => {}
                }
            }
        };
        tokio::time::timeout(DEADLINE, answer).await?
    }
}
