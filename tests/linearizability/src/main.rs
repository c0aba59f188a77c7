//! `cargo xtask linearizability`: records traffic under faults and checks it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this crate is a test, which prints what it did"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use linearizability::check::check;
use linearizability::disk::{Faults, FaultyDisk};
use linearizability::inside::{self, Met};
use linearizability::traffic::Traffic;
use machinery::clock::Clock;
use machinery::random::Random;
use test_server::Server;

/// How many revisions a real server keeps for watches.
const KEPT: u64 = 10_000;

#[derive(Parser)]
struct Arguments {
    /// How long in all; half of it against the real server, half of it against one in this process.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The seed of a run before.
    #[arg(long)]
    seed: Option<u64>,
    /// The server to kill.
    #[arg(long, env = "FIRSTLIGHT_BINARY")]
    binary: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| Random::system().number());
    println!("seed {seed}");
    let half = Duration::from_secs(arguments.seconds) / 2;
    let mut wrong = kills(&arguments.binary, half, seed)?;
    wrong += faults(half, seed)?;
    ensure!(wrong == 0, "{wrong} violations; seed {seed}");
    Ok(())
}

/// Returns a duration between `from` and `to` milliseconds.
fn span(random: &Random, from: u64, to: u64) -> Duration {
    Duration::from_millis(from + random.number() % (to - from))
}

/// Tests the real server over its socket, killing it repeatedly.
fn kills(binary: &Path, time: Duration, seed: u64) -> Result<usize> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (random, clock, traffic) = (Random::seeded(seed), Clock::system(), Traffic::new(seed));
    let directory = tempfile::tempdir()?;
    let mut count = 0;
    let finished = runtime.block_on(async {
        let until = clock.monotonic() + time;
        while clock.monotonic() < until {
            let mut server = Server::start(binary, directory.path(), &["--controllers", "none"]).await?;
            let client = server.client().await?;
            let kill = async {
                clock.sleep(span(&random, 200, 4_000)).await;
                drop(server.kill().await);
            };
            traffic.during(&client, kill).await;
            count += 1;
        }
        let server = Server::start(binary, directory.path(), &["--controllers", "none"]).await?;
        anyhow::Ok(traffic.finish(&server.client().await?).await)
    })?;
    Ok(tell(&format!("kill -9 of the server, {count} times"), finished, &traffic, KEPT))
}

/// Tests the server in this process: its disk is full or slow, its history is trimmed, its clock jumps, and
/// it is restarted.
fn faults(time: Duration, seed: u64) -> Result<usize> {
    let (random, clock, traffic) = (Random::seeded(seed), Clock::system(), Traffic::new(seed));
    let directory = tempfile::tempdir()?;
    let disk = FaultyDisk { path: directory.path().join("store.redb"), faults: Arc::new(Faults::default()) };
    let (mut met, mut lives) = (Met::default(), 0);
    let mut live = |last: bool| -> Result<Result<(), String>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Each start has a different wall clock time, before or after that of the previous one.
        let offset = random.number() % 200_000;
        let result = runtime.block_on(async {
            let (server, client) = inside::serve(&disk, offset).await?;
            if last {
                return anyhow::Ok(traffic.finish(&client).await);
            }
            let span = span(&random, 1_000, 6_000);
            traffic.during(&client, inside::disturb(&disk, &random, &clock, span, &mut met)).await;
            server.stop();
            Ok(Ok(()))
        });
        runtime.shutdown_timeout(Duration::from_secs(10));
        result
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let now = || runtime.block_on(async { Clock::system().monotonic() });
    let until = now() + time;
    while now() < until {
        if let Err(error) = live(false)? {
            bail!("{error}");
        }
        lives += 1;
    }
    let finished = live(true)?;
    let what = format!(
        "a server in this process, {lives} lives: disk full {} times, slow {} times, clock ahead {} times, history of {} revisions",
        met.full,
        met.slow,
        met.jumps,
        inside::KEPT.revisions
    );
    Ok(tell(&what, finished, &traffic, inside::KEPT.revisions))
}

fn tell(what: &str, finished: Result<(), String>, traffic: &Traffic, kept: u64) -> usize {
    let mut report = check(&traffic.history, kept);
    report.violations.extend(traffic.recreated.broken());
    let recreated = traffic.recreated.count.load(Ordering::SeqCst);
    println!("{what}; definitions and namespaces created {recreated} times");
    println!(
        "  {} requests ({} without an answer), {} lists, {} changes; {} watches ({} expired), {} events, {} bookmarks",
        report.operations,
        report.unknown,
        report.listings,
        report.changes,
        report.watches,
        report.expired,
        report.events,
        report.bookmarks
    );
    for violation in report.violations.iter().take(20) {
        println!("  VIOLATION {violation}");
    }
    if let Err(error) = &finished {
        println!("  VIOLATION {error}");
    }
    println!("  {} violations", report.violations.len() + usize::from(finished.is_err()));
    report.violations.len() + usize::from(finished.is_err())
}
