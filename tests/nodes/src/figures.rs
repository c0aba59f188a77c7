//! Figures of the own runtime, for docs/BENCHMARKS.md: how long clusters take, and what the server uses meanwhile and at rest. The peer is the
//! scenario of the same size: `by-hand`, `three-kubeadm`.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use machinery::clock::Clock;

use crate::stage::{CHANGE, Stage};
use crate::steps::Steps;
use crate::{manifest, usage};

/// The time over which the processor time at rest is counted.
const REST: Duration = Duration::from_secs(60);
/// The time after which a new cluster is at rest.
const SETTLED: Duration = Duration::from_secs(20);

/// One control plane and one worker: with an image to unpack, and once it is unpacked.
///
/// # Errors
/// A step fails.
pub async fn one(stage: &mut Stage<'_>) -> Result<()> {
    let manifests = manifest::without_health(stage.images.older())?;
    bring_up(stage, &manifests, 2, "1 + 1").await?;
    stage.server.kubectl().wait("delete cluster --all --all-namespaces", CHANGE).await?;
    stage.server.stop().await?;
    stage.steps = Steps::new("figures, image unpacked");
    bring_up(stage, &manifests, 2, "1 + 1 with an unpacked image").await?;
    stage.end().await
}

/// Three of each, once the image is unpacked, and the server at rest with them.
///
/// # Errors
/// A step fails.
pub async fn three(stage: &mut Stage<'_>) -> Result<()> {
    let version = stage.images.older();
    stage.up(&manifest::without_health(version)?, &[]).await?;
    stage.come_up(2).await?;
    stage.server.kubectl().wait("delete cluster --all --all-namespaces", CHANGE).await?;
    stage.server.stop().await?;
    stage.steps = Steps::new("three, image unpacked");
    bring_up(stage, &manifest::of_three(version)?, 6, "3 + 3 with an unpacked image").await?;
    let clock = Clock::system();
    clock.sleep(SETTLED).await;
    let before = usage::cpu(stage.server.process()?)?;
    clock.sleep(REST).await;
    let cores = (usage::cpu(stage.server.process()?)? - before) / REST.as_secs_f64();
    writeln!(std::io::stdout(), "figure: nodes: CPU of the server at rest with 3 + 3: {cores:.4} cores")?;
    usage::print(stage)?;
    stage.end().await
}

async fn bring_up(stage: &mut Stage<'_>, manifests: &str, nodes: usize, size: &str) -> Result<()> {
    stage.up(manifests, &[]).await?;
    stage.come_up(nodes).await?;
    let seconds = stage.steps.seconds();
    writeln!(
        std::io::stdout(),
        "figure: nodes: from nothing to {size} Available and CoreDNS 2/2: {seconds:.1} s"
    )?;
    usage::print(stage)
}
