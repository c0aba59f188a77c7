//! Implements `cargo xtask clients`: the transcripts and programs of `tests/clients`, and the envtest suites
//! of other projects.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::suite::{run as run_program, server, tests};

/// Builds the server unless `FIRSTLIGHT_BINARY` is set, then runs the transcripts: all, or those whose names
/// contain one of `names`. With `all`, it also runs the envtest suites, selected in the same way.
///
/// # Errors
/// A build, a transcript or a test of a suite fails. Tests of a suite that are listed as failing are allowed
/// to fail.
pub fn run(root: &Path, names: &[String], all: bool) -> Result<()> {
    let binary = server(root)?;
    let variables = [("FIRSTLIGHT_BINARY", binary.as_str())];
    let parts: Vec<&str> = names.iter().map(String::as_str).collect();
    tests(root, "clients", &parts, &variables)?;
    if all {
        return run_program(root, "envtest-suites", names, &variables);
    }
    let why = "the envtest suites of tests/clients/suites were not run: that is `cargo xtask clients --all`";
    Ok(writeln!(std::io::stdout().lock(), "{why}")?)
}
