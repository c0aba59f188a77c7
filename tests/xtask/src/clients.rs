//! `cargo xtask clients`: the transcripts of `tests/clients`.

use std::path::Path;

use anyhow::Result;

use crate::suite::{server, tests};

/// Builds the server unless `FIRSTLIGHT_BINARY` names one, then plays the transcripts: all, or those whose names contain one of `names`.
///
/// # Errors
/// Where something does not build, or a transcript does not hold.
pub fn run(root: &Path, names: &[String]) -> Result<()> {
    let binary = server(root)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    tests(root, "clients", &names, &[("FIRSTLIGHT_BINARY", &binary)])
}
