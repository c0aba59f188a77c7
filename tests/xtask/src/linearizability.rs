//! Implements `cargo xtask linearizability`: requests under faults, whose recorded history is checked.

use std::path::Path;

use anyhow::Result;

use crate::suite::{self, server};

/// Builds the server, then runs the suite with `arguments`.
///
/// # Errors
/// A build fails, or a guarantee was violated.
pub fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let binary = server(root)?;
    suite::run(root, "linearizability", arguments, &[("FIRSTLIGHT_BINARY", &binary)])
}
