//! An IPMI BMC that switches a machine.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::assets::assets;
use crate::lab::ADDRESS;
use crate::machine::{Boot, Machine};

/// Port of the BMC; the standard IPMI port is 623.
pub const PORT: u16 = 6230;

/// Limit for its start on a loaded machine.
const START: Duration = Duration::from_secs(60);

/// The running BMC; stopped when dropped.
pub struct Ipmi {
    _process: Child,
}

impl Ipmi {
    /// Starts a BMC for `machine` at the lab's address, with these credentials.
    ///
    /// # Errors
    /// Fails without the programs that `tests/netboot/install-tools` installs.
    pub async fn start(machine: Arc<Machine>, (user, password): (&str, &str)) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ipmi-switch");
        let mut process = Command::new(assets().join("../bmcs/bin/python"))
            .arg(script)
            .args([&ADDRESS.to_string(), &PORT.to_string(), user, password])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("pyghmi is needed: run tests/netboot/install-tools")?;
        let questions = process.stdout.take().context("a pipe")?;
        let mut answers = process.stdin.take().context("a pipe")?;
        let mut questions = BufReader::new(questions).lines();
        let ready = tokio::time::timeout(START, questions.next_line()).await??;
        ready.context("the controller has ended: run tests/netboot/install-tools")?;
        tokio::spawn(async move {
            while let Ok(Some(question)) = questions.next_line().await {
                let answer = answer(&machine, &question).await;
                if answers.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                    break;
                }
            }
        });
        Ok(Self { _process: process })
    }
}

async fn answer(machine: &Machine, question: &str) -> &'static str {
    match question.split_once(' ').unwrap_or((question, "")) {
        ("on", device) => {
            let boot = match device {
                "network" | "net" | "pxe" => Boot::Network,
                "hd" | "safe" => Boot::Disk,
                _ => Boot::Own,
            };
            match machine.power_on(&boot).await {
                Ok(()) => "done",
                Err(_) => "failed",
            }
        }
        ("off", _) => {
            machine.power_off().await;
            "done"
        }
        _ if machine.is_on() => "on",
        _ => "off",
    }
}
