//! One start of a container: its process, its output, and its probes.

use std::sync::Arc;

use anyhow::Result;
use pod_processes::cgroup::Group;
use pod_processes::{Ended, Exec, Process};
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::limits;
use crate::logs::{Log, copy};
use crate::plan::{Paths, Planned};

/// A container that runs. Dropping it kills its process.
pub(crate) struct Running {
    signals: mpsc::Sender<Signal>,
    task: JoinHandle<()>,
    /// Its end, once that has begun.
    end: Option<JoinHandle<()>>,
    /// The way into it.
    pub(crate) exec: Option<Exec>,
    /// Where its paths are on this machine, if it has no root folder of its own.
    pub(crate) paths: Option<Arc<Paths>>,
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
    pub(crate) async fn start<F: Future<Output = ()> + Send>(
        planned: Planned,
        group: Option<Group>,
        log: Arc<Log>,
        on_end: impl FnOnce(End) -> F + Send + 'static,
    ) -> Result<Self> {
        let mut process = Process::spawn(planned.instruction, group).await?;
        let exec = process.exec();
        let (signals, mut wanted) = mpsc::channel::<Signal>(limits::SIGNALS);
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
                    biased;
                    ended = process.wait() => break ended,
                    Some(signal) = wanted.recv() => process.signal(signal),
                }
            };
            on_end(End { ended, output: copied.await.unwrap_or_default() }).await;
        });
        let paths = planned.paths.map(Arc::new);
        Ok(Self { signals, task, end: None, exec, paths, probes: Vec::new() })
    }

    /// Returns where signals for the process are sent.
    pub(crate) fn signals(&self) -> mpsc::Sender<Signal> {
        self.signals.clone()
    }

    /// Returns whether its end has begun.
    pub(crate) fn is_stopping(&self) -> bool {
        self.end.is_some()
    }

    /// Begins the end of the container.
    pub(crate) fn stop_with(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        // What is found from now on says nothing about a healthy container.
        self.probes.iter().for_each(JoinHandle::abort);
        self.end = Some(tokio::spawn(end));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
        self.end.iter().for_each(JoinHandle::abort);
        self.probes.iter().for_each(JoinHandle::abort);
    }
}
