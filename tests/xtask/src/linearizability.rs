//! `cargo xtask linearizability`: traffic under faults, recorded and checked.

use std::path::Path;

use anyhow::Result;

use crate::suite::{self, server};

/// Builds the server, then runs the suite with `arguments`.
///
/// # Errors
/// Where something does not build, or a promise was broken.
pub fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let binary = server(root)?;
    suite::run(root, "linearizability", arguments, &[("FIRSTLIGHT_BINARY", &binary)])
}
