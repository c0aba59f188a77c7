//! The commands, each in a file of its own.

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
/// Standard output is closed.
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
/// Standard output is closed.
pub fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// A signal that ends the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, from the user.
    Interrupt,
    /// SIGTERM, from the service manager.
    Terminate,
}

/// The error of a command that a signal ended before it was done. It is not printed, because the user knows about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted(pub Signal);

impl Interrupted {
    /// Returns the exit code by the convention of shells: 128 plus the number of the signal.
    pub fn exit_code(self) -> u8 {
        match self.0 {
            Signal::Interrupt => 128 + 2,
            Signal::Terminate => 128 + 15,
        }
    }
}

/// The handlers of the signals that end the process. A signal before they are installed ends the process at once.
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn catch() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal that ends the process.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
