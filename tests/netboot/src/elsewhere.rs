//! Another machine on the lab's network, simulated by its own network namespace.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::lab::{Lab, run};
use crate::wait::until;

/// Limit for the start of a program.
const START: Duration = Duration::from_secs(30);

/// Shell code that waits until the interfaces were added.
const BEGIN: &str = "echo ready; read -r come; ip link set lo up; ";

/// A program that runs in the namespace; stopped when dropped.
pub struct Elsewhere {
    _process: Child,
    log: PathBuf,
}

impl Elsewhere {
    /// Runs the shell script `script` in the namespace, with `arguments` as `$0`, `$1` and so on, once the
    /// interfaces exist. Each interface is given by the lab's bridge that it is connected to and its name in
    /// the namespace.
    ///
    /// # Errors
    /// Fails without the necessary permissions.
    pub async fn start(
        lab: &Lab,
        name: &str,
        interfaces: &[(&str, &str)],
        script: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let log = lab.file(&format!("{name}.log"));
        let mut process = Command::new("unshare")
            .args(["--net", "sh", "-e", "-c", &format!("{BEGIN}{script}")])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?)
            .kill_on_drop(true)
            .spawn()?;
        // The namespace exists as soon as the script writes its first line.
        let mut ready = String::new();
        BufReader::new(process.stdout.take().context("a pipe")?).read_line(&mut ready).await?;
        let id = process.id().context("a process that runs")?.to_string();
        for (bridge, inner) in interfaces {
            let outer = format!("{inner}-out");
            run("ip", &["link", "add", &outer, "type", "veth", "peer", "name", inner]).await?;
            run("ip", &["link", "set", &outer, "master", bridge, "up"]).await?;
            run("ip", &["link", "set", inner, "netns", &id]).await?;
        }
        process.stdin.take().context("a pipe")?.write_all(b"come\n").await?;
        Ok(Self { _process: process, log })
    }

    /// Waits until the log contains `sign`. `program` is the program that runs, from Debian's package
    /// `package`.
    ///
    /// # Errors
    /// Fails with the log if that does not happen in time.
    pub async fn comes_up(&self, sign: &str, program: &str, package: &str) -> Result<()> {
        let is_up = || async { self.log().contains(sign).then_some(()) };
        let waited = until(program, START, is_up).await;
        waited.map_err(|error| anyhow!("{error}; is Debian's {package} installed?\n{}", self.log()))
    }

    /// Returns the log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
