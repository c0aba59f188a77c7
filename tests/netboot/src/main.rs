//! `netboot-tests [--all | NAME...]`: boots virtual machines with a real firstlight. Each scenario runs in
//! its own network namespace, and as many run in parallel as there are processors. Run by `cargo xtask
//! netboot`. Needs root, and the programs that `tests/netboot/install-tools` installs.

use std::io::Write as _;
use std::process::{Command, Output};
use std::thread;

use anyhow::{Context as _, Result, bail};
use netboot_tests::node;
use netboot_tests::scenarios::{Named, SCENARIOS};
use parking_lot::Mutex;

/// Also runs the scenarios that do not run by default.
const ALL: &str = "--all";
/// Tells the process that it already runs in the namespaces. The name of a scenario follows.
const HERE: &str = "--here";
/// Number of attempts. Under emulation about one start in thirty hangs in firmware or kernel, so only a
/// second failure is significant.
const ATTEMPTS: usize = 2;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == HERE
    {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).context("no such scenario")?;
        return tokio::runtime::Runtime::new()?.block_on((scenario.run)());
    }
    if let [flag, name, rest @ ..] = arguments.as_slice()
        && flag == node::AS
    {
        return node::run(name, rest);
    }
    let is_chosen = |scenario: &&Named| match arguments.as_slice() {
        [] => scenario.by_default,
        [all] if all == ALL => true,
        names => names.iter().any(|part| scenario.name.contains(part.as_str())),
    };
    let (figures, rest): (Vec<&Named>, Vec<&Named>) =
        SCENARIOS.iter().filter(is_chosen).partition(|scenario| scenario.alone);
    for prepare in rest.iter().chain(&figures).filter_map(|scenario| scenario.prepare) {
        prepare()?;
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut failed = run_all(&rest, workers)?;
    failed.extend(run_all(&figures, 1)?);
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Runs scenarios, `workers` at a time. Returns the names of the failed ones.
fn run_all(scenarios: &[&Named], workers: usize) -> Result<Vec<&'static str>> {
    let (left, failed) = (Mutex::new(scenarios.iter()), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let Some(scenario) = left.lock().next() else { return Ok(()) };
            if !run(scenario.name)? {
                failed.lock().push(scenario.name);
            }
        }
    };
    thread::scope(|scope| {
        let working: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        working.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(failed.into_inner())
}

/// Runs a scenario, and a second time if it fails. Its output is printed in one piece.
fn run(name: &str) -> Result<bool> {
    let clock = machinery::clock::Clock::system();
    for attempt in 1..=ATTEMPTS {
        let start = clock.monotonic();
        let Output { status, stdout, stderr } = in_namespaces(name)?;
        let how = if status.success() { "passed" } else { "FAILED" };
        let mut out = std::io::stdout().lock();
        out.write_all(&stdout)?;
        out.write_all(&stderr)?;
        writeln!(out, "{name}: {how} after {} s (attempt {attempt})", start.elapsed().as_secs())?;
        if status.success() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first process of the namespaces. It also reaps orphaned processes, as libvirt expects.
const FIRST: &str = "\"$0\" \"$@\" & wait $!";

/// Runs a scenario in its own namespaces. Its remaining processes and interfaces are removed with them.
fn in_namespaces(name: &str) -> Result<Output> {
    Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", FIRST])
        .arg(std::env::current_exe()?)
        .args([HERE, name])
        .env("RUST_LOG", "info,netboot=debug,metal=debug")
        .output()
        .context("unshare (of util-linux) is needed")
}
