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

/// Who wants the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The user: SIGINT.
    Interrupt,
    /// The service manager: SIGTERM.
    Terminate,
}

/// A command that a signal ended before it had done what it was asked for. Nothing is said of it: the user knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted(pub Signal);

impl Interrupted {
    /// What a shell makes of such an end: 128 and the number of the signal.
    pub fn exit_code(self) -> u8 {
        match self.0 {
            Signal::Interrupt => 128 + 2,
            Signal::Terminate => 128 + 15,
        }
    }
}

/// The signals that end the process, caught from when this is made: one that comes earlier ends it at once.
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Catches them.
    ///
    /// # Errors
    /// Those of the system.
    pub fn catch() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Done when the user or the service manager wants the process to end.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
