//! Another machine on the lab's network, which is a network namespace of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::lab::{Lab, run};
use crate::wait::until;

/// How long a program's start may take.
const START: Duration = Duration::from_secs(30);

/// Waits until its interfaces have come.
const BEGIN: &str = "echo ready; read -r come; ip link set lo up; ";

/// A program that runs there; gone when dropped.
pub struct Elsewhere {
    _process: Child,
    log: PathBuf,
}

impl Elsewhere {
    /// Runs a shell's `script` there, with `arguments` as `$0`, `$1` …, once it has its interfaces: for each the bridge of the lab that it is
    /// plugged into, and its name there.
    ///
    /// # Errors
    /// Without rights to.
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
        // Its namespace is there as soon as it speaks.
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

    /// Waits until it says `sign`: it is up. `program` is what runs, of Debian's `package`.
    ///
    /// # Errors
    /// With what it says, when that does not come.
    pub async fn comes_up(&self, sign: &str, program: &str, package: &str) -> Result<()> {
        let is_up = || async { self.log().contains(sign).then_some(()) };
        let waited = until(program, START, is_up).await;
        waited.map_err(|error| anyhow!("{error}; is Debian's {package} installed?\n{}", self.log()))
    }

    /// What it says.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
