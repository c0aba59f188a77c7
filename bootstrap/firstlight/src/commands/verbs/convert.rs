//! `convert`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use server::data_directory::write_private;

use crate::output::{say_document, tell};

/// Options of `convert`.
#[derive(Debug, Args)]
pub struct ConvertOptions {
    /// The manifests [default: standard input]
    source: Option<PathBuf>,
    /// File to write to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Version to convert to
    #[arg(long, value_name = "VERSION", default_value = "v1beta2")]
    to_version: String,
}

/// Runs `convert`.
///
/// # Errors
/// The manifests cannot be read or converted.
pub fn run(options: &ConvertOptions) -> Result<()> {
    clusterctl::convert::check(&options.to_version)?;
    tell("WARNING: This command is EXPERIMENTAL and may be removed in a future release!");
    let text = match &options.source {
        Some(path) => std::fs::read(path).with_context(|| format!("failed to read input file {path:?}"))?,
        None => {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).context("failed to read from stdin")?;
            text
        }
    };
    let converted = clusterctl::convert::manifests(&text)?;
    match options.output.as_deref().filter(|path| *path != Path::new("")) {
        Some(path) => write_private(path, converted.text.as_bytes())
            .with_context(|| format!("failed to write output file {path:?}"))?,
        None => say_document(&converted.text)?,
    }
    tell(&format!(
        "Converted {} resource(s) to {}. {} resource(s) passed through unchanged.",
        converted.converted, options.to_version, converted.unchanged
    ));
    Ok(())
}
