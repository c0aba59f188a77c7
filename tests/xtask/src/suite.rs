//! Builds and runs test suites, which are test programs or programs of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::agent;

/// Builds the release binary of `firstlight` with the static agent program inside
/// (docs/decisions/agent-program.md).
///
/// # Errors
/// A build fails.
pub fn release(root: &Path) -> Result<()> {
    let agent = agent::build(root)?;
    let agent = agent.to_str().context("the target folder's name is no text")?;
    cargo(root, &["build", "--release", "--package", "firstlight"], &[("FIRSTLIGHT_AGENT", agent)])
}

/// Builds and runs the program `name`. As in [`tests`], it builds the whole workspace so that little is
/// rebuilt.
///
/// # Errors
/// The build or the program fails.
pub fn run(root: &Path, name: &str, arguments: &[String], variables: &[(&str, &str)]) -> Result<()> {
    cargo(root, &["build", "--workspace", "--bin", name], &[])?;
    let program = target(root).join("debug").join(name);
    let mut command = Command::new(&program);
    command.current_dir(root).args(arguments).envs(variables.iter().copied());
    let status = command.status().with_context(|| format!("{} cannot be run", program.display()))?;
    ensure!(status.success(), "{name} failed");
    Ok(())
}

/// Runs coverage-guided fuzzing of the target that `arguments` begin with; the other arguments are passed to
/// libFuzzer. New inputs are written to `target/fuzz/NAME`.
///
/// # Errors
/// The name is missing, a nightly toolchain or cargo-fuzz is missing, or a fault was found.
pub fn coverage(root: &Path, arguments: &[String]) -> Result<()> {
    let (name, rest) = arguments.split_first().context("the name of a reader is missing: --coverage yaml")?;
    let (found, kept) = (target(root).join("fuzz").join(name), root.join("tests/fuzz/corpus").join(name));
    std::fs::create_dir_all(&found)?;
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz", "run", "--fuzz-dir", "tests/fuzz/coverage", "read"]);
    command.args([&found, &kept]).arg("--").args(rest);
    let status =
        command.current_dir(root).env("FUZZ_TARGET", name).status().context("rustup cannot be run")?;
    ensure!(status.success(), "a fault was found, or cargo-fuzz and a nightly toolchain are not installed");
    Ok(())
}

/// Runs the test program `program` of the workspace: all of its tests, or those whose names contain one of
/// `names`. It builds the whole workspace, because other features would cause a rebuild of the results of
/// `cargo test --workspace`.
///
/// # Errors
/// A test fails.
pub fn tests(root: &Path, program: &str, names: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let mut all = vec!["test", "--workspace", "--test", program, "--", "--nocapture"];
    all.extend(names);
    cargo(root, &all, variables)
}

/// Runs cargo in the workspace with additional environment variables.
///
/// # Errors
/// cargo fails.
pub fn cargo(root: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let mut command = cargo_command(root, arguments);
    let status = command.envs(variables.iter().copied()).status().context("cargo cannot be run")?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}

/// Runs cargo in the workspace, and returns what it prints to standard output.
///
/// # Errors
/// cargo fails.
pub fn cargo_output(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = cargo_command(root, arguments);
    let output = command.stderr(Stdio::inherit()).output().context("cargo cannot be run")?;
    ensure!(output.status.success(), "cargo {} failed", arguments.join(" "));
    String::from_utf8(output.stdout).context("cargo prints no text")
}

fn cargo_command(root: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(arguments);
    // Variables that cargo sets for this program would cause a complete rebuild, because build scripts depend
    // on them.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

/// The path of the server's release binary: `FIRSTLIGHT_BINARY` if set, or else our own, which is built
/// first.
///
/// # Errors
/// The build fails.
pub fn server(root: &Path) -> Result<String> {
    if let Ok(given) = std::env::var("FIRSTLIGHT_BINARY") {
        return Ok(given);
    }
    release(root)?;
    let binary = target(root).join("release/firstlight");
    Ok(binary.to_str().context("the path of the target directory is not UTF-8")?.to_owned())
}

/// The build directory of cargo.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target))
}
