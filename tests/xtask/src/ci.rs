//! Implements `cargo xtask ci`: `.ci/run`, and the runs that take hours.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The runs that are too long for each change, as arguments of `cargo xtask`. A failure does not stop the others.
pub const LONG: [&[&str]; 10] = [
    &["clients", "--all"],
    &["attack", "--full"],
    &["crash", "--seeds", "50", "--kills", "200"],
    &["pivot", "--seeds", "500"],
    &["fuzz", "--seconds", "300"],
    &["linearizability", "--seconds", "900"],
    &["simulate", "--seeds", "4000", "--clusters", "40", "--thorough"],
    &["netboot", "--all"],
    &["nodes", "--all"],
    &["restarts", "--clusters", "12", "--restarts", "100"],
];

/// Runs `.ci/run` and, with `all`, the long runs after it.
///
/// # Errors
/// A run fails; the message names all that failed.
pub fn run(root: &Path, all: bool) -> Result<()> {
    let mut failed = Vec::new();
    if !succeeds(root, &mut Command::new(root.join(".ci/run")))? {
        failed.push(".ci/run".to_owned());
    }
    let program = std::env::current_exe().context("this program cannot be found")?;
    for arguments in LONG.iter().filter(|_| all) {
        if !succeeds(root, Command::new(&program).args(*arguments))? {
            failed.push(format!("cargo xtask {}", arguments.join(" ")));
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join("; "));
    Ok(())
}

fn succeeds(root: &Path, command: &mut Command) -> Result<bool> {
    let status = command.current_dir(root).status();
    Ok(status.with_context(|| format!("{} cannot be run", command.get_program().display()))?.success())
}
