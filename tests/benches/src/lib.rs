//! `cargo xtask bench`: measures the figures of docs/BENCHMARKS.md with the release binary and prints them in
//! the form of its table.

mod bench;
mod classes;
mod clusters;
mod durability;
mod fleets;
mod hosts;
mod http2;
mod netboot;
mod objects;
mod operations;
pub mod pivot;
mod plans;
mod server;
mod start;
mod versions;
mod watches;
mod wire;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use machinery::clock::Clock;

use self::bench::{Bench, print};

#[derive(Parser)]
#[command(about = "Takes the figures of docs/BENCHMARKS.md")]
struct Arguments {
    /// The binary to measure.
    #[arg(long, default_value = "target/release/firstlight")]
    binary: PathBuf,
    /// How often each figure is taken; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only figures whose name contains this. Those of large fleets (docs/BENCHMARKS.md) are only taken if it is their whole name.
    #[arg(long, default_value = "")]
    only: String,
    /// How many clusters are pivoted; several numbers show whether the time is linear.
    #[arg(long, default_values_t = [100])]
    clusters: Vec<usize>,
    /// clusterctl, which moves them back.
    #[arg(long)]
    clusterctl: Option<PathBuf>,
    /// In the namespaces of the figures of netboot.
    #[arg(long, hide = true)]
    inside: bool,
}

/// Takes the figures that the arguments name.
///
/// # Errors
/// A figure cannot be taken.
pub async fn run() -> Result<()> {
    let arguments = Arguments::parse();
    let bench = Bench {
        binary: arguments.binary,
        rounds: arguments.rounds.max(1),
        only: arguments.only,
        clusters: arguments.clusters,
        clusterctl: arguments.clusterctl,
        clock: Clock::system(),
    };
    if arguments.inside {
        return netboot::inside(&bench).await;
    }
    print("| figure | median | range |\n|---|---|---|");
    start::run(&bench).await?;
    clusters::run(&bench).await?;
    classes::run(&bench).await?;
    fleets::run(&bench).await?;
    hosts::run(&bench).await?;
    operations::run(&bench).await?;
    versions::run(&bench).await?;
    durability::run(&bench).await?;
    watches::run(&bench).await?;
    pivot::run(&bench).await?;
    plans::run(&bench).await?;
    netboot::run(&bench)
}
