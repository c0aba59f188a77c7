//! `cargo xtask clients`: the transcripts and programs of `tests/clients`, and the envtest suites of other projects.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::suite::{run as run_program, server, tests};

/// Builds the server unless `FIRSTLIGHT_BINARY` names one, then plays the transcripts: all, or those whose names contain one of `names`.
/// With `all` the envtest suites follow, chosen by `names` in the same way.
///
/// # Errors
/// Where something does not build, a transcript does not hold, or a suite's test fails that is not listed.
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
