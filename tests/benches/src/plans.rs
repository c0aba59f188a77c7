//! Benchmark of `firstlight plan`: the upgrade of a cluster that runs, from the start of the command to its end.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::bench::Bench;
use crate::clusters::{NEW, bring_up};
use crate::objects::cluster;
use crate::server::Server;

/// The machines of the control plane, and the workers.
const MACHINES: (i64, i64) = (3, 50);

/// Runs this benchmark.
pub async fn run(bench: &Bench) -> Result<()> {
    bench.figure("plan of the upgrade of 3 + 50 machines", "s", upgrade).await
}

async fn upgrade(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    bring_up(&server, "c", MACHINES).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("upgrade.yaml");
    let objects = cluster("c", MACHINES.0, MACHINES.1, NEW, false);
    let texts: Vec<String> = objects.iter().map(|(_, object)| object.to_string()).collect();
    std::fs::write(&file, texts.join("\n---\n"))?;
    let mut command = std::process::Command::new(&bench.binary);
    command.arg("plan").arg("-f").arg(&file).arg("--kubeconfig").arg(server.kubeconfig());
    command.args(["-o", "json"]);
    let started = bench.clock.monotonic();
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let seconds = (bench.clock.monotonic() - started).as_secs_f64();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the plan failed: {errors}");
    let plan: Value = serde_json::from_slice(&output.stdout)?;
    let all = MACHINES.0 + MACHINES.1;
    ensure!(plan["machines"]["created"] == all, "the plan creates {}", plan["machines"]["created"]);
    Ok(seconds)
}
