//! `envtest-suites [--build] [WORD...]`: runs the envtest suites of other projects, or only the packages with one
//! of the words in `SUITE/FOLDER`. With `--build` it only gets and builds them. Run by `cargo xtask clients suites`
//! and `cargo xtask clients --all`.
//!
//! With `ENVTEST_PEER=DIR`, a folder with `kube-apiserver` and `etcd`, the suites also run with these
//! programs, and both results are printed.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use clients::session::{Tools, root};
use clients::suites::judge::{Verdict, judge};
use clients::suites::list::{self, Package, Suite};
use clients::suites::module::Module;
use clients::suites::results::{self, Results};
use machinery::clock::Clock;
use tempfile::TempDir;

/// Number of attempts. Suites have timeouts of a second, so on a busy machine only a second failure is
/// significant.
const ATTEMPTS: usize = 2;
/// Environment variable with the folder of kube-apiserver and etcd.
const PEER: &str = "ENVTEST_PEER";

fn main() -> Result<()> {
    let (options, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
    ensure!(options.iter().all(|option| option == "--build"), "usage: envtest-suites [--build] [WORD...]");
    let tools = Tools::find().map_err(|reason| anyhow!(reason))?;
    let chosen = list::choose(Suite::all(&root().join("tests/clients/suites"))?, &words)?;
    let mut built = Vec::new();
    for suite in chosen {
        let module = Module::fetch(&tools.clients, &suite)?;
        for package in &suite.packages {
            module.build(&package.folder)?;
        }
        built.push((suite, module));
    }
    if options.is_empty() { run_all(&tools, &built) } else { Ok(()) }
}

/// Runs the suites with each server.
fn run_all(tools: &Tools, suites: &[(Suite, Module)]) -> Result<()> {
    let mut servers = vec![Server::ours(tools)?];
    if let Some(folder) = std::env::var_os(PEER) {
        servers.push(Server::peer(tools, folder)?);
    }
    let mut failed = Vec::new();
    for (suite, module) in suites {
        for server in &servers {
            let total = run(suite, module, server)?;
            if total.wrong > 0 && server.counts {
                failed.push(suite.name.clone());
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// A folder for `KUBEBUILDER_ASSETS`.
struct Server {
    name: &'static str,
    assets: TempDir,
    /// Whether its failures make the run fail.
    counts: bool,
}

impl Server {
    fn ours(tools: &Tools) -> Result<Self> {
        let assets = tempfile::tempdir()?;
        let mut fill = Command::new(&tools.firstlight);
        let filled = fill.arg("envtest").arg(assets.path()).env("PATH", &tools.clients).output();
        let filled = filled.with_context(|| tools.firstlight.display().to_string())?;
        ensure!(filled.status.success(), "firstlight envtest: {}", String::from_utf8_lossy(&filled.stderr));
        Ok(Self { name: "firstlight", assets, counts: true })
    }

    fn peer(tools: &Tools, folder: OsString) -> Result<Self> {
        let (folder, assets) = (PathBuf::from(folder), tempfile::tempdir()?);
        for program in ["kube-apiserver", "etcd"] {
            let path = folder.join(program);
            let path = path.canonicalize().with_context(|| format!("{PEER}: {}", path.display()))?;
            symlink(path, assets.path().join(program))?;
        }
        symlink(tools.clients.join("kubectl"), assets.path().join("kubectl"))?;
        Ok(Self { name: "peer", assets, counts: false })
    }

    /// Ends servers that are still running because their tests failed before stopping them. The path of the
    /// folder is unique.
    fn end_what_is_left(&self) {
        let started_here = format!("^{}/", self.assets.path().display());
        drop(Command::new("pkill").args(["-KILL", "-f", &started_here]).status());
    }
}

#[derive(Default)]
struct Total {
    passed: usize,
    skipped: usize,
    expected: usize,
    wrong: usize,
    time: Duration,
}

/// Runs a suite with one server and prints the result of each package.
fn run(suite: &Suite, module: &Module, server: &Server) -> Result<Total> {
    let clock = Clock::system();
    let mut total = Total::default();
    for package in &suite.packages {
        let start = clock.monotonic();
        let mut verdict = attempt(module, package, server)?;
        for _ in 1..ATTEMPTS {
            if verdict.wrong.is_empty() {
                break;
            }
            for (test, why) in &verdict.wrong {
                say(&format!("  once more, since it failed: {test}: {}", first_line(why)))?;
            }
            verdict = attempt(module, package, server)?;
        }
        let time = start.elapsed();
        let Verdict { passed, skipped, expected, wrong } = &verdict;
        say(&format!(
            "{} {}, {}: {passed} passed, {skipped} left out by their authors, {} failed as expected, {} FAILED, {:.1} s",
            suite.name,
            package.folder,
            server.name,
            expected.len(),
            wrong.len(),
            time.as_secs_f64()
        ))?;
        for (test, reason) in expected {
            say(&format!("  expected to fail: {test}\n    {reason}"))?;
        }
        for (test, why) in wrong {
            say(&format!("  FAILED: {test}\n    {}", why.replace('\n', "\n    ")))?;
        }
        total.passed += passed;
        total.skipped += skipped;
        total.expected += expected.len();
        total.wrong += wrong.len();
        total.time += time;
    }
    let Total { passed, skipped, expected, wrong, time } = &total;
    say(&format!(
        "{} {}, {}: in all {passed} passed, {skipped} left out, {expected} failed as expected, {wrong} FAILED, {:.0} s",
        suite.name,
        suite.version,
        server.name,
        time.as_secs_f64()
    ))?;
    Ok(total)
}

/// Runs a package once.
fn attempt(module: &Module, package: &Package, server: &Server) -> Result<Verdict> {
    let run = module.run(&package.folder, server.name, server.assets.path())?;
    server.end_what_is_left();
    let mut all = results::of_go(&String::from_utf8_lossy(&std::fs::read(&run.log)?));
    if let Some(report) = &run.report {
        add_specs(module, package, report, &mut all)?;
    }
    let verdict = judge(package, &all, run.success);
    if !verdict.wrong.is_empty() {
        say(&format!("  what the tests printed: {}", run.log.display()))?;
    }
    Ok(verdict)
}

/// Replaces a test that runs Ginkgo specs by its specs, unless only the test itself failed.
fn add_specs(module: &Module, package: &Package, report: &Path, all: &mut Results) -> Result<()> {
    // A program that was aborted writes no report.
    let Ok(report) = std::fs::read(report) else { return Ok(()) };
    let specs = results::of_ginkgo(&report)?;
    let failed = |results: &Results| results.values().any(|one| matches!(one, results::Outcome::Failed(_)));
    for test in module.specs_of(&package.folder)? {
        if failed(&specs) || all.get(&test) == Some(&results::Outcome::Passed) {
            all.remove(&test);
        }
    }
    all.extend(specs);
    Ok(())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}
