//! Suites: test programs, and programs of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::agent;

/// Builds the release binary of `firstlight`, with the agent as a static program inside (docs/decisions/agent-program.md).
///
/// # Errors
/// Where one does not build.
pub fn release(root: &Path) -> Result<()> {
    let agent = agent::build(root)?;
    let agent = agent.to_str().context("the target folder's name is no text")?;
    cargo(root, &["build", "--release", "--package", "firstlight"], &[("FIRSTLIGHT_AGENT", agent)])
}

/// Builds and runs the program `name`. As with [`tests`], the whole workspace is named, so that little is built again.
///
/// # Errors
/// Where it does not build, or fails.
pub fn run(root: &Path, name: &str, arguments: &[String], variables: &[(&str, &str)]) -> Result<()> {
    cargo(root, &["build", "--workspace", "--bin", name], &[])?;
    let program = target(root).join("debug").join(name);
    let mut command = Command::new(&program);
    command.current_dir(root).args(arguments).envs(variables.iter().copied());
    let status = command.status().with_context(|| format!("{} cannot be run", program.display()))?;
    ensure!(status.success(), "{name} failed");
    Ok(())
}

/// Feeds the reader that `arguments` begin with, with coverage feedback; the others are libFuzzer's. New inputs are in
/// `target/fuzz/NAME`.
///
/// # Errors
/// Without a name, without a nightly toolchain and cargo-fuzz, or where a fault was found.
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

/// Runs the test program `program` of the workspace, all of its tests or those whose names contain one of `names`. The whole workspace is
/// named, so that what `cargo test --workspace` built is not built again with other features.
///
/// # Errors
/// Where one fails.
pub fn tests(root: &Path, program: &str, names: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let mut all = vec!["test", "--workspace", "--test", program, "--", "--nocapture"];
    all.extend(names);
    cargo(root, &all, variables)
}

/// Runs cargo in the workspace, with further environment variables.
///
/// # Errors
/// Where it fails.
pub fn cargo(root: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(arguments).envs(variables.iter().copied());
    // What the cargo that runs this program says of its package: build scripts look at it, and everything would be built again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    let status = command.status().context("cargo cannot be run")?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}

/// The path of the server's release binary: the one that `FIRSTLIGHT_BINARY` names, or else our own, after building it.
///
/// # Errors
/// Where it does not build.
pub fn server(root: &Path) -> Result<String> {
    if let Ok(given) = std::env::var("FIRSTLIGHT_BINARY") {
        return Ok(given);
    }
    release(root)?;
    let binary = target(root).join("release/firstlight");
    Ok(binary.to_str().context("the path of the target directory is not UTF-8")?.to_owned())
}

/// The folder that cargo builds into.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target))
}
