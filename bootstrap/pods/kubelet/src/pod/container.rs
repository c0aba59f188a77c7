//! One start of a container: its process, its output, and its probes.

use std::sync::Arc;

use anyhow::Result;
use pod_processes::{Ended, Instruction, Process};
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::logs::{Log, copy};

/// A container that runs. Dropping it kills its process.
pub(crate) struct Running {
    signals: mpsc::UnboundedSender<Signal>,
    task: JoinHandle<()>,
    /// The probes of this start; they end with it.
    pub(crate) probes: Vec<JoinHandle<()>>,
}

/// The end of a start.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) ended: Ended,
    /// The last output.
    pub(crate) output: Vec<u8>,
}

impl Running {
    /// Starts a process; `on_end` is called when it and its output have ended.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(crate) async fn start(
        instruction: Instruction,
        log: Arc<Log>,
        on_end: impl FnOnce(End) + Send + 'static,
    ) -> Result<Self> {
        let mut process = Process::spawn(instruction).await?;
        let (signals, mut wanted) = mpsc::unbounded_channel::<Signal>();
        let output = process.take_output();
        let task = tokio::spawn(async move {
            let copied = tokio::spawn(async move {
                let Some(output) = output else { return Vec::new() };
                let stdout = copy(log.clone(), "stdout", output.stdout);
                let (mut first, second) = futures::join!(stdout, copy(log, "stderr", output.stderr));
                first.extend(second);
                first
            });
            let ended = loop {
                tokio::select! {
                    ended = process.wait() => break ended,
                    Some(signal) = wanted.recv() => process.signal(signal),
                }
            };
            on_end(End { ended, output: copied.await.unwrap_or_default() });
        });
        Ok(Self { signals, task, probes: Vec::new() })
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: Signal) {
        // A process that has ended needs none.
        self.signals.send(signal).ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
        self.probes.iter().for_each(JoinHandle::abort);
    }
}
