//! `cargo xtask fuzz`: runs the targets for a given time, two at a time.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this crate is a test, which prints what it did"
)]

use std::collections::BTreeSet;
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use fuzz::corpus;
use fuzz::mutate::mutate;
use fuzz::patterns;
use fuzz::targets::{TARGETS, Target};
use machinery::clock::Clock;
use machinery::random::Random;

/// An input that takes longer is a failure.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of an input.
const LENGTH: usize = 4096;
/// Stack size of tokio's threads.
const STACK: usize = 2 << 20;
/// Maximum number of inputs in the pool.
const POOL: usize = 4_000;

#[derive(Parser)]
struct Arguments {
    /// How long each target is fed.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only this one, in this process.
    #[arg(long)]
    target: Option<String>,
    /// How many targets at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The seed of a run before.
    #[arg(long)]
    seed: Option<u64>,
    /// Keep the inputs with new answers in the corpus, the short ones.
    #[arg(long)]
    keep: bool,
    /// Instead of all that, compare so many regular expressions with what a program in Go says of them.
    #[arg(long)]
    beside_go: Option<u64>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| Random::system().number());
    if let Some(number) = arguments.beside_go {
        return patterns::beside_go(number, seed).with_context(|| format!("seed {seed}"));
    }
    match &arguments.target {
        Some(name) => {
            let target =
                TARGETS.iter().find(|target| target.name == name).context("there is no such target")?;
            let (seconds, keep) = (arguments.seconds, arguments.keep);
            // A stack of the same size as in the server.
            let thread = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || feed(target, seconds, keep, seed));
            thread?.join().map_err(|_| anyhow::anyhow!("{name}: a panic outside of the reader"))?
        }
        None => all(&arguments, seed),
    }
}

/// Runs every target in its own process.
fn all(arguments: &Arguments, seed: u64) -> Result<()> {
    let mut waiting = TARGETS.iter();
    let mut running: Vec<(&str, Child)> = Vec::new();
    let mut failed = Vec::new();
    loop {
        while running.len() < arguments.jobs
            && let Some(target) = waiting.next()
        {
            let mut command = Command::new(std::env::current_exe()?);
            command.args([
                "--target",
                target.name,
                "--seconds",
                &arguments.seconds.to_string(),
                "--seed",
                &seed.to_string(),
            ]);
            command.args(arguments.keep.then_some("--keep"));
            running.push((target.name, command.spawn()?));
        }
        if running.is_empty() {
            break;
        }
        let (name, mut child) = running.remove(0);
        if !child.wait()?.success() {
            failed.push(name);
        }
    }
    ensure!(
        failed.is_empty(),
        "{} failed; the inputs are in tests/fuzz/corpus/*/crash-*; seed {seed}",
        failed.join(", ")
    );
    println!("{} targets, seed {seed}: nothing found", TARGETS.len());
    Ok(())
}

/// Ends the process if one input takes too long.
fn watchdog(count: Arc<AtomicU64>, name: &'static str) -> std::sync::mpsc::Sender<()> {
    let (done, ended) = channel();
    std::thread::spawn(move || {
        let mut before = u64::MAX;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PATIENCE) {
            let now = count.load(Ordering::SeqCst);
            if now == before {
                eprintln!("{name}: an input takes longer than {PATIENCE:?}");
                std::process::abort();
            }
            before = now;
        }
    });
    done
}

fn feed(target: &Target, seconds: u64, keep: bool, seed: u64) -> Result<()> {
    let (random, clock) = (Random::seeded(seed), Clock::system());
    let mut pool: Vec<Vec<u8>> = corpus::read(target.name).into_iter().map(|(_, input)| input).collect();
    let mut read = (target.reader)();
    let mut answers: BTreeSet<String> = pool.iter().map(|input| read(input)).collect();
    let path = corpus::folder(target.name).join("crash-last");
    let mut last = std::fs::File::create(&path)?;
    let count = Arc::new(AtomicU64::new(0));
    let done = watchdog(count.clone(), target.name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let now = || runtime.block_on(async { clock.monotonic() });
    let until = now() + Duration::from_secs(seconds);
    std::panic::set_hook(Box::new(|_| {}));
    while !count.load(Ordering::SeqCst).is_multiple_of(64) || now() < until {
        count.fetch_add(1, Ordering::SeqCst);
        let made =
            target.grammar.filter(|_| random.number().is_multiple_of(4)).map(|grammar| grammar(&random));
        let input = match made {
            Some(made) => made.into_bytes(),
            None => mutate(&pool, target.words, &random, LENGTH),
        };
        // The input is written first, so that it is known even if the process crashes.
        last.set_len(0)?;
        last.rewind()?;
        last.write_all(&input)?;
        match catch_unwind(AssertUnwindSafe(|| read(&input))) {
            Ok(answer) if pool.len() < POOL && input.len() <= LENGTH && !answers.contains(&answer) => {
                answers.insert(answer);
                if keep && input.len() < 200 {
                    corpus::keep(target.name, "kept", &input)?;
                }
                pool.push(input);
            }
            Ok(_) => {}
            Err(panic) => {
                let why = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or(panic.downcast_ref::<&str>().copied());
                std::fs::remove_file(&path)?;
                let kept = corpus::keep(target.name, "crash", &input)?;
                bail!("{}: {} by {}", target.name, why.unwrap_or_default(), kept.display());
            }
        }
    }
    drop(done);
    std::fs::remove_file(&path)?;
    println!("{}: {} inputs, {} sorts of answers", target.name, count.load(Ordering::SeqCst), answers.len());
    Ok(())
}
