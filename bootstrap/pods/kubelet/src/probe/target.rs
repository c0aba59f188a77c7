//! What a probe or a hook asks: a container that runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use net::{BoxStream, Network};
use pod_processes::{Ended, Exec};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::port::port;
use crate::limits;
use crate::plan::Paths;

/// A container that runs.
#[derive(Clone)]
pub struct Target {
    /// The container.
    pub container: Container,
    /// The address of its Pod.
    pub address: String,
    /// The network in which it is found.
    pub network: Arc<dyn Network>,
    /// Where its ports are, if that is not where it says.
    pub moves: Arc<BTreeMap<u16, u16>>,
    /// The way into it.
    pub exec: Option<Exec>,
    /// Where its paths are on this machine, if it has no root folder of its own.
    pub paths: Option<Arc<Paths>>,
}

impl Target {
    /// Connects to a port of the container, or of another host. Returns host and port as the probe names them, too.
    ///
    /// # Errors
    /// There is no such port, or nothing listens there.
    pub(super) async fn dial(
        &self,
        host: Option<&str>,
        wanted: &IntOrString,
    ) -> Result<(BoxStream, String, u16)> {
        let number = port(wanted, &self.container)?;
        let host = host.filter(|host| !host.is_empty());
        let moved = match host {
            Some(_) => number,
            None => self.moves.get(&number).copied().unwrap_or(number),
        };
        let host = host.unwrap_or(&self.address);
        let stream = self.network.dial(host, moved).await;
        let stream = stream.with_context(|| format!("cannot connect to {host}:{number}"))?;
        Ok((stream, host.to_owned(), number))
    }

    /// Runs a command in the container. It is killed if this is dropped.
    ///
    /// # Errors
    /// It cannot be started, or ends with another code than 0; the message has its output.
    pub(super) async fn run(&self, command: &[String]) -> Result<()> {
        let exec = self.exec.as_ref().context("this kernel has no way into a container that runs")?;
        let command = match &self.paths {
            Some(paths) => paths.of_command(command.to_vec()),
            None => command.to_vec(),
        };
        let mut process = exec.run(command).await?;
        let text = match process.take_output() {
            Some(output) => {
                let (first, second) = futures::join!(text(output.stdout), text(output.stderr));
                first + &second
            }
            None => String::new(),
        };
        match process.wait().await {
            Ended::Exited(0) => Ok(()),
            ended => bail!("command failed with exit code {}: {}", ended.code(), text.trim_end()),
        }
    }
}

/// Reads the output of a command to its end, and returns the beginning of it.
async fn text(mut from: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    // What cannot be read is missing in a message, and the exit code counts.
    (&mut from).take(limits::COMMAND_OUTPUT).read_to_end(&mut kept).await.ok();
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await.ok();
    String::from_utf8_lossy(&kept).into_owned()
}
