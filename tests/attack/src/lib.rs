//! `attack [--full] [--requests N] [--seed N] [NAME...]`: attacks a real firstlight with one scenario after
//! the other. Run by `cargo xtask attack`. The scenarios are described in docs/RELIABILITY.md.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "this crate is a test, which prints what it did"
)]

mod bodies;
mod caller;
mod connections;
mod expiry;
mod generated;
mod identity;
mod kubeconfigs;
mod lab;
mod pulse;
mod reads;
mod report;
pub mod routes;
mod terminal;
mod wide;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;
use futures::future::LocalBoxFuture;
use machinery::clock::Clock;
use machinery::random::Random;

use self::lab::Options;
use self::report::Broken;

#[derive(Parser)]
struct Arguments {
    /// Only the scenarios whose names contain one of these.
    names: Vec<String>,
    /// The seed of a run before.
    #[arg(long)]
    seed: Option<u64>,
    /// How many requests are generated.
    #[arg(long, default_value_t = 20_000)]
    requests: u64,
    /// Multiplies all limits of time: for a server that is not optimized, or on a busy machine.
    #[arg(long, default_value_t = 1)]
    slack: u32,
    /// Every request of the routes, and the sizes of the documentation's figures: an hour rather than three minutes.
    #[arg(long)]
    full: bool,
    /// The server to attack.
    #[arg(long, env = "FIRSTLIGHT_BINARY")]
    binary: PathBuf,
}

type Scenario = for<'a> fn(&'a Options) -> LocalBoxFuture<'a, Result<Broken>>;

/// The scenarios. The one on the provisioning network is `cargo xtask netboot hostile`.
const SCENARIOS: &[(&str, Scenario)] = &[
    ("identity", |options| Box::pin(identity::run(options))),
    ("kubeconfigs", |options| Box::pin(kubeconfigs::run(options))),
    ("routes", |options| Box::pin(routes::run(options))),
    ("bodies", |options| Box::pin(bodies::run(options))),
    ("wide", |options| Box::pin(wide::run(options))),
    ("reads", |options| Box::pin(reads::run(options))),
    ("connections", |options| Box::pin(connections::run(options))),
    ("generated", |options| Box::pin(generated::run(options))),
    ("terminal", |options| Box::pin(terminal::run(options))),
    ("expiry", |options| Box::pin(expiry::run(options))),
];

/// Runs the scenarios that the arguments name.
///
/// # Errors
/// Something is broken.
pub fn run() -> Result<()> {
    let arguments = Arguments::parse();
    let Arguments { names, requests, slack, full, binary, .. } = arguments;
    let seed = arguments.seed.unwrap_or_else(|| Random::system().number());
    println!("seed {seed}");
    let options = Options { binary, seed, requests, slack, full };
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    let (mut broken, mut ran) = (Vec::new(), 0);
    for (name, run) in SCENARIOS.iter().filter(|(name, _)| is_chosen(name)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (outcome, seconds) = runtime.block_on(async {
            let start = Clock::system().monotonic();
            (run(&options).await, start.elapsed().as_secs())
        });
        ran += 1;
        let found = outcome.unwrap_or_else(|error| {
            let mut found = Broken::default();
            found.add(format!("{error:#}"));
            found
        });
        println!("{name}: {}, {} broken, {seconds} s", found.figures, found.count());
        if found.count() > 0 {
            broken.push(*name);
        }
    }
    ensure!(ran > 0, "no scenario is named so");
    ensure!(broken.is_empty(), "broken: {}; seed {seed}", broken.join(", "));
    Ok(())
}
