//! Tells the program the time of its source, for the images that it makes of itself (`src/image`): that of the commit in a release, and zero in
//! builds of developers, which would all be compiled again with each commit.
//!
//! Embeds the agent's program in the server: `FIRSTLIGHT_AGENT` is its path; it is compressed with zstd
//! (docs/decisions/agent-program.md). Without it the server program serves as its own agent.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

#[allow(clippy::print_stdout, reason = "cargo reads it")]
fn main() -> Result<(), Error> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FIRSTLIGHT_AGENT");
    println!("cargo:rustc-env=FIRSTLIGHT_COMMIT_SECONDS={}", commit_seconds());
    let folder = std::env::var_os("OUT_DIR").ok_or(ErrorKind::NotFound)?;
    let out = PathBuf::from(folder).join("firstlight-agent");
    let Some(agent) = std::env::var_os("FIRSTLIGHT_AGENT").map(PathBuf::from) else {
        return std::fs::write(out, []);
    };
    println!("cargo:rerun-if-changed={}", agent.display());
    let failed = |error| Error::other(format!("FIRSTLIGHT_AGENT={}: {error}", agent.display()));
    std::fs::copy(&agent, out).map(|_| ()).map_err(failed)
}

/// Returns the time of the commit in seconds since 1970; zero if this is no release, or the source is in no repository.
#[allow(clippy::print_stdout, reason = "cargo reads it")]
fn commit_seconds() -> u64 {
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git").args(arguments).output().ok();
        let output = output.filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return 0;
    }
    // It changes with each commit, also of a branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["log", "-1", "--format=%ct"]).and_then(|seconds| seconds.parse().ok()).unwrap_or_default()
}
