//! `firstlight man-pages`: writes the manual pages, for packages.

use std::path::Path;

use anyhow::{Context, Result};

use crate::cli;

/// Writes a page for the program and one for each command, `firstlight.1`, `firstlight-up.1` and so on, to a directory.
///
/// # Errors
/// The directory cannot be written.
pub fn run(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let written = clap_mangen::generate_to(cli::command(), directory);
    written.with_context(|| format!("cannot write to {}", directory.display()))
}
