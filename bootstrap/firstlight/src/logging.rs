//! Logging to standard error: text on a terminal, JSON otherwise; `RUST_LOG` is the filter.

use std::fs::OpenOptions;
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::tree::screen::has_colours;

/// A larger log is renamed at the next start; the renamed log before it is lost.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is logged if `RUST_LOG` does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// What a server does.
    Information,
    /// Warnings and errors.
    Warnings,
    /// Errors only: for a command whose output says why its simulated controllers fail.
    Errors,
}

/// Logs to standard error from now on.
pub fn start(verbosity: Verbosity) {
    let default = match verbosity {
        Verbosity::Information => "info",
        // A command that only looks at another server ends by itself when that server ends.
        Verbosity::Warnings => "warn,engine::watch=error",
        Verbosity::Errors => "error",
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter(default)).with_writer(std::io::stderr);
    let outcome = if std::io::stderr().is_terminal() {
        builder.with_target(false).with_ansi(has_colours()).try_init()
    } else {
        builder.json().with_target(true).try_init()
    };
    // An error means that logging was started before, as in tests; the first settings stay.
    drop(outcome);
}

/// Starts logging to the end of a file, so that a terminal shows only the tree.
///
/// # Errors
/// The file cannot be written.
pub fn start_in_file(path: &Path) -> Result<()> {
    if path.metadata().is_ok_and(|file| file.len() > FILE_BYTES_MAX) {
        std::fs::rename(path, path.with_extension("log.1"))
            .with_context(|| format!("cannot rename {}", path.display()))?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("cannot write the log {}", path.display()))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter("info")).with_ansi(false);
    // As in `start`.
    drop(builder.with_writer(Mutex::new(file)).try_init());
    Ok(())
}

fn filter(default: &str) -> EnvFilter {
    // The client and its check of certificates log each failed connection, and each watch that ends with its server, although its callers
    // try again or report it.
    let client = "kube_client::client=error,kube_client::client::builder=off,rustls_platform_verifier=off";
    let default = format!("{default},{client}");
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default))
}
