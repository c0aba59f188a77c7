//! Implements `cargo xtask clients`: the transcripts, programs and scenarios of `tests/clients`, the envtest suites
//! of other projects, and the takeover by upstream's Metal3 (`tests/takeover`).

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::suite::{run as run_program, server, tests};

/// The name of the takeover, which runs by name and with `all`, because it needs programs of its own.
const TAKEOVER: &str = "takeover";
/// The program that plays the scenarios of Cluster API's end-to-end specs.
const SCENARIOS: &str = "scenarios";

/// Builds the server unless `FIRSTLIGHT_BINARY` is set, then runs the transcripts: all, or those whose names
/// contain one of `names`, and the scenarios: all but those that take long, or those with one of the names. With `all`,
/// it also runs the long scenarios, the envtest suites, selected like transcripts, and the takeover for the whole
/// ten minutes.
///
/// # Errors
/// A build, a transcript or a test of a suite fails. Tests of a suite that are listed as failing are allowed
/// to fail.
pub fn run(root: &Path, names: &[String], all: bool) -> Result<()> {
    let binary = server(root)?;
    let variables = [("FIRSTLIGHT_BINARY", binary.as_str())];
    if names == [TAKEOVER] {
        return takeover(root, all, &variables);
    }
    let long = all.then(|| "--all".to_owned());
    if names == [SCENARIOS] {
        return run_program(root, SCENARIOS, long.as_slice(), &variables);
    }
    let parts: Vec<&str> = names.iter().map(String::as_str).collect();
    tests(root, "clients", &parts, &variables)?;
    let arguments: Vec<String> = names.iter().cloned().chain(long).collect();
    run_program(root, SCENARIOS, &arguments, &variables)?;
    if all {
        run_program(root, "envtest-suites", names, &variables)?;
        if names.is_empty() {
            takeover(root, all, &variables)?;
        }
        return Ok(());
    }
    let why = "the envtest suites of tests/clients/suites and the takeover were not run: that is `cargo xtask clients --all`";
    Ok(writeln!(std::io::stdout().lock(), "{why}")?)
}

/// Gets upstream's programs, unless they are there, and runs the takeover; with `long` for ten minutes instead of four.
fn takeover(root: &Path, long: bool, variables: &[(&str, &str)]) -> Result<()> {
    let minutes = ["--minutes".to_owned(), "10".to_owned()];
    let arguments = if long { &minutes[..] } else { &[] };
    let status = Command::new(root.join("tests/takeover/install-tools")).status()?;
    ensure!(status.success(), "tests/takeover/install-tools failed");
    run_program(root, TAKEOVER, arguments, variables)
}
