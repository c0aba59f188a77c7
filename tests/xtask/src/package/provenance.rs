//! How the packages were built: an in-toto statement with SLSA's predicate for provenance. It is not signed.

use std::process::Command;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::release::Release;
use super::tools::{digest, file_names, output_of};

/// Returns the statement about all files in the release's folder.
///
/// # Errors
/// A file cannot be read, or git or rustc fails.
pub(super) fn of(release: &Release) -> Result<Value> {
    let subjects: Result<Vec<Value>> = file_names(&release.output)?
        .into_iter()
        .map(|name| {
            let digest = digest(&release.output.join(&name))?;
            Ok(json!({"name": name, "digest": {"sha256": digest}}))
        })
        .collect();
    let git = |arguments: &[&str]| output_of(Command::new("git").args(arguments).current_dir(&release.root));
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain"])?;
    let toolchain = output_of(Command::new("rustc").arg("-vV").current_dir(&release.root))?;
    let toolchain: Map<String, Value> = toolchain
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let libraries = match release.program.glibc {
        Some((major, minor)) => format!("glibc {major}.{minor} or newer"),
        None => "none".to_owned(),
    };
    Ok(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects?,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:firstlight:cargo-xtask-package:1",
                "externalParameters": {"command": "cargo xtask package"},
                "internalParameters": {
                    "rustc": toolchain,
                    "libraries": libraries,
                    "uncommittedChanges": !changes.is_empty(),
                },
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit.trim()}},
                    {"name": "Cargo.lock", "digest": {"sha256": digest(&release.root.join("Cargo.lock"))?}},
                ],
            },
            "runDetails": {"builder": {"id": builder()}},
        },
    }))
}

/// The identifier of the run of GitHub Actions, or of a build on somebody's own machine.
fn builder() -> String {
    let variable = |name: &str| std::env::var(name).ok();
    let run = || {
        Some(format!(
            "{}/{}/actions/runs/{}",
            variable("GITHUB_SERVER_URL")?,
            variable("GITHUB_REPOSITORY")?,
            variable("GITHUB_RUN_ID")?
        ))
    };
    run().unwrap_or_else(|| "urn:firstlight:own-machine".to_owned())
}
