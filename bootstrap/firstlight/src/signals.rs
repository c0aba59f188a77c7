//! The signals that end a process.

use anyhow::Result;

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
