//! The signals that end a process.

use anyhow::Result;

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

    /// Installs the handlers after `start`. Until then, a signal ends the process at once: a start may wait for long, and the next one finds what
    /// a crash leaves. Process 1 of a container has to do this itself, since the kernel ends it by no signal that it does not handle.
    ///
    /// # Errors
    /// The errors of `start` and of the operating system.
    pub async fn catch_after<T>(start: impl Future<Output = Result<T>>) -> Result<(T, Self)> {
        let mut until_then = Self::catch()?;
        let ending = tokio::spawn(async move {
            std::process::exit(Interrupted(until_then.next().await).exit_code().into());
        });
        let started = start.await;
        let signals = Self::catch();
        ending.abort();
        Ok((started?, signals?))
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
