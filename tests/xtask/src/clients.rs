//! `cargo xtask clients`: the transcripts of `tests/clients`.

use std::path::Path;

use anyhow::Result;

use crate::suite::{cargo, server};

/// Builds the server unless `FIRSTLIGHT_BINARY` names one, then plays the transcripts: all, or those whose names contain one of `names`.
///
/// # Errors
/// Where something does not build, or a transcript does not hold.
pub fn run(root: &Path, names: &[String]) -> Result<()> {
    let given = std::env::var("FIRSTLIGHT_BINARY").ok();
    let binary = match given {
        Some(binary) => binary,
        None => server(root)?,
    };
    // The whole workspace, so that dependencies have the features they were built with for all tests.
    let mut arguments =
        vec!["test", "--workspace", "--test", "transcripts", "--test", "programs", "--", "--nocapture"];
    arguments.extend(names.iter().map(String::as_str));
    cargo(root, &arguments, &[("FIRSTLIGHT_BINARY", &binary)])
}
