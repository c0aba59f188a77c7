//! One file a command.

pub mod backup;
pub mod completion;
pub mod controllers;
pub mod image;
pub mod inspect;
pub mod metal;
pub mod pivot;
pub mod serve;
pub mod up;
pub mod verbs;

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::Output;

/// Prints `value` as JSON or YAML.
///
/// # Errors
/// Where standard output is closed.
pub fn print(value: &impl Serialize, output: Output) -> Result<()> {
    let text = match output {
        Output::Json => serde_json::to_string_pretty(value)? + "\n",
        Output::Yaml => serde_saphyr::to_string(value)?,
    };
    say(&text)
}

/// Prints text to standard output.
///
/// # Errors
/// Where it is closed.
pub fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Done when the user or the service manager wants the process to end.
pub async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be caught");
            drop(tokio::signal::ctrl_c().await);
        }
    }
}
