//! Implements `cargo xtask crash`: the full crash suite, with every store engine and the real server.

use std::path::Path;

use anyhow::Result;

use crate::suite::{server, tests};

/// Builds the server, then runs the suite with `seeds` random scripts and `kills` kills of each writing
/// process.
///
/// # Errors
/// A build fails, or a write was lost.
pub fn run(root: &Path, seeds: u64, kills: u64) -> Result<()> {
    let binary = server(root)?;
    let (seeds, kills) = (seeds.to_string(), kills.to_string());
    let variables = [
        ("FIRSTLIGHT_BINARY", binary.as_str()),
        ("CRASH_SEEDS", seeds.as_str()),
        ("CRASH_KILLS", kills.as_str()),
    ];
    tests(root, "crash", &["kill::", "power::", "server::"], &variables)
}
