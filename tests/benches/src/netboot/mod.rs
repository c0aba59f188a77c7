//! Benchmarks of booting machines over the network: DHCP, file transfers and writing images, each compared
//! with an established program in the same run.
//!
//! Server and peer each have a network namespace with a virtual cable to the clients' bridge, and share one
//! processor; the clients use another one. Requires root and the programs that `tests/netboot/install-tools`
//! installs.

mod dhcp;
mod files;
mod image;
mod load;
mod pair;
mod place;
mod registry;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::bench::{Bench, print};
use place::{ASSETS, Firstlight, Place};
use registry::Bundled;

/// Runs these benchmarks in new namespaces, which remove everything when they end.
pub fn run(bench: &Bench) -> Result<()> {
    if !"netboot".contains(&bench.only) {
        return Ok(());
    }
    let rounds = bench.rounds.to_string();
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.arg(std::env::current_exe()?);
    command.args(["--inside", "--rounds", &rounds, "--binary"]).arg(&bench.binary);
    let status = command.status().context("unshare (of util-linux) is needed")?;
    ensure!(
        status.success(),
        "the figures of netboot need root, and what tests/netboot/install-tools installs"
    );
    Ok(())
}

/// Runs the benchmarks inside the namespaces.
pub async fn inside(bench: &Bench) -> Result<()> {
    ensure!(Path::new(ASSETS).is_dir(), "run tests/netboot/install-tools first");
    let folder = tempfile::tempdir()?;
    place::bridge().await?;
    let (server, peer) = (Place::new("ours", place::SERVER).await?, Place::new("peer", place::PEER).await?);
    print("| figure | peer | ours | ratio | of the rounds |\n|---|---|---|---|---|");
    let images = folder.path().join("images");
    std::fs::create_dir(&images)?;
    let bundled = Bundled::new(bench, folder.path()).await?;
    let firstlight = Firstlight::start(bench, &server, folder.path(), &images, &bundled.file).await?;
    dhcp::run(bench, &firstlight, &peer, folder.path()).await?;
    let nginx = files::run(bench, &firstlight, &peer, folder.path(), &images).await?;
    bundled.run(bench, &folder.path().join("served")).await?;
    drop(nginx);
    drop(firstlight);
    image::run(bench, &peer, folder.path()).await
}
