//! Logging to standard error: text on a terminal, JSON otherwise; `--log-level` or `RUST_LOG` is the filter.
//!
//! Messages contain what others have written, so an event is one line, in which control characters are escaped.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use server::options::LogLevel;
use tracing_subscriber::EnvFilter;

use crate::tree::screen::has_colours;

/// A larger log is renamed at the next start; the renamed log before it is lost.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is logged if `RUST_LOG` does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// What the user has chosen.
    Chosen(LogLevel),
    /// What a server does.
    Information,
    /// Warnings and errors.
    Warnings,
    /// Errors only: for a command whose output says why its simulated controllers fail.
    Errors,
}

impl Verbosity {
    fn filter(self) -> &'static str {
        match self {
            Self::Information | Self::Chosen(LogLevel::Info) => "info",
            // A command that only looks at another server ends by itself when that server ends.
            Self::Warnings => "warn,engine::watch=error",
            Self::Errors | Self::Chosen(LogLevel::Error) => "error",
            Self::Chosen(LogLevel::Warn) => "warn",
            Self::Chosen(LogLevel::Debug) => "debug",
            Self::Chosen(LogLevel::Trace) => "trace",
        }
    }
}

/// Logs to standard error from now on.
pub fn start(verbosity: Verbosity) {
    let is_terminal = std::io::stderr().is_terminal();
    let has_colours = is_terminal && has_colours();
    let out = move || Events { out: std::io::stderr(), has_colours };
    let builder = tracing_subscriber::fmt().with_env_filter(filter(verbosity.filter())).with_writer(out);
    let outcome = if is_terminal {
        builder.with_target(false).with_ansi(has_colours).try_init()
    } else {
        builder.json().with_span_list(false).with_target(true).try_init()
    };
    // An error means that logging was started before, as in tests; the first settings stay.
    drop(outcome);
}

/// Returns whether standard error is a terminal with colours.
pub fn has_colours_of_errors() -> bool {
    std::io::stderr().is_terminal() && has_colours()
}

/// Starts logging to the end of a file, so that a terminal shows only the tree.
///
/// # Errors
/// The file cannot be written.
pub fn start_in_file(path: &Path, verbosity: Verbosity) -> Result<()> {
    if path.metadata().is_ok_and(|file| file.len() > FILE_BYTES_MAX) {
        files::rename(path, &path.with_extension("log.1"))
            .with_context(|| format!("cannot rename {}", path.display()))?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("cannot write the log {}", path.display()))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter(verbosity.filter())).with_ansi(false);
    // As in `start`.
    let file = Arc::new(file);
    drop(builder.with_writer(move || Events { out: file.clone(), has_colours: false }).try_init());
    Ok(())
}

/// Writes each event as one line of safe characters. `tracing_subscriber` writes an event at once.
struct Events<W> {
    out: W,
    /// Whether events have colours. `tracing_subscriber` has escaped the escape sequences of values then.
    has_colours: bool,
}

impl<W: Write> Write for Events<W> {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        self.out.write_all(shown(event, self.has_colours).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Returns the text of an event as the terminal shows it.
pub fn shown(event: &[u8], has_colours: bool) -> String {
    let text = String::from_utf8_lossy(event);
    let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
    let line = match has_colours {
        true => text.split('\u{1b}').map(terminal::line).collect::<Vec<_>>().join("\u{1b}"),
        false => terminal::line(text).into_owned(),
    };
    line + end
}

fn filter(default: &str) -> EnvFilter {
    // The client and its check of certificates log each failed connection, and each watch that ends with its server, although its callers
    // try again or report it.
    let client = "kube_client::client=error,kube_client::client::builder=off,rustls_platform_verifier=off";
    let default = format!("{default},{client}");
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default))
}
