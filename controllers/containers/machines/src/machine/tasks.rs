//! The steps of machines that take longer than a reconcile may: each runs as a task, and the machine is reconciled when it says something.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::queue::Cause;
use engine::{Manager, Queue, Request};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::steps::{Done, Step};
use crate::limits;

/// What is known of the tasks of a machine. It is in memory only: after a restart each step looks at what is there first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// The step that runs.
    pub running: Option<Step>,
    /// What it has said last.
    pub said: String,
    /// The steps that have succeeded, each with its result.
    pub done: BTreeMap<Step, Done>,
    /// The last step that failed.
    pub failed: Option<Failed>,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// The step.
    pub step: Step,
    /// Why.
    pub error: String,
    /// When it is tried again.
    pub again: DateTime<Utc>,
    /// How often it has failed.
    pub times: u32,
}

impl Progress {
    /// Returns the failure of this step, if it was the last one.
    pub fn failure(&self, step: &Step) -> Option<&Failed> {
        self.failed.as_ref().filter(|failed| failed.step == *step)
    }
}

/// The tasks of all machines, by the UIDs of their objects. Cheap to clone.
#[derive(Clone)]
pub(super) struct Tasks(Arc<Inner>);

struct Inner {
    manager: Manager,
    queue: Arc<Queue>,
    machines: Mutex<BTreeMap<String, Entry>>,
}

struct Entry {
    request: Request,
    /// What the results of the steps belong to. They are forgotten when it changes.
    of: String,
    progress: Progress,
    task: Option<JoinHandle<()>>,
}

/// Is told how far a step is, in a few words.
pub(super) type Say = Arc<dyn Fn(&str) + Send + Sync>;

impl Tasks {
    /// Creates the tasks of the machines that `queue` reconciles.
    pub fn new(manager: &Manager, queue: Arc<Queue>) -> Self {
        Self(Arc::new(Inner { manager: manager.clone(), queue, machines: Mutex::default() }))
    }

    /// Returns what is known of a machine. `of` is what its results belong to: a start of its container.
    pub fn progress(&self, uid: &str, of: &str) -> Progress {
        let mut machines = self.0.machines.lock();
        let Some(entry) = machines.get_mut(uid) else { return Progress::default() };
        if entry.of != of && entry.progress.running.is_none() {
            entry.progress.done.clear();
            entry.of = of.to_owned();
        }
        entry.progress.clone()
    }

    /// Returns what was last known of the steps of a machine.
    pub fn last(&self, uid: &str) -> Progress {
        self.0.machines.lock().get(uid).map(|entry| entry.progress.clone()).unwrap_or_default()
    }

    /// Starts a step of a machine, unless one runs.
    pub fn start<F>(&self, uid: &str, request: &Request, step: Step, work: impl FnOnce(Say) -> F)
    where
        F: Future<Output = anyhow::Result<Done>> + Send + 'static,
    {
        let mut machines = self.0.machines.lock();
        let entry = machines.entry(uid.to_owned()).or_insert_with(|| Entry {
            request: request.clone(),
            of: String::new(),
            progress: Progress::default(),
            task: None,
        });
        if entry.progress.running.is_some() {
            return;
        }
        entry.progress.running = Some(step.clone());
        entry.progress.said.clear();
        let (tasks, key) = (self.clone(), uid.to_owned());
        let work = work(Arc::new(move |text| tasks.said(&key, text)));
        let (tasks, key) = (self.clone(), uid.to_owned());
        entry.task = Some(self.0.manager.spawn(async move {
            let result = work.await;
            tasks.ended(&key, step, result);
        }));
    }

    /// Ends the task of a machine, and forgets it. Returns after the task has ended.
    pub async fn forget(&self, uid: &str) {
        let task = self.0.machines.lock().remove(uid).and_then(|entry| entry.task);
        if let Some(task) = task {
            task.abort();
            // An error only says that it was ended.
            drop(task.await);
        }
    }

    /// Forgets the machines that are called `request`, which do not exist any more.
    pub async fn forget_all(&self, request: &Request) {
        let gone: BTreeSet<String> = {
            let machines = self.0.machines.lock();
            machines
                .iter()
                .filter(|(_, entry)| entry.request == *request)
                .map(|(uid, _)| uid.clone())
                .collect()
        };
        for uid in gone {
            self.forget(&uid).await;
        }
    }

    fn said(&self, uid: &str, text: &str) {
        let mut machines = self.0.machines.lock();
        let Some(entry) = machines.get_mut(uid).filter(|entry| entry.progress.said != text) else { return };
        text.clone_into(&mut entry.progress.said);
        self.0.queue.add(entry.request.clone(), Cause::Outside);
    }

    fn ended(&self, uid: &str, step: Step, result: anyhow::Result<Done>) {
        let mut machines = self.0.machines.lock();
        let Some(entry) = machines.get_mut(uid) else { return };
        entry.task = None;
        let progress = &mut entry.progress;
        progress.running = None;
        match result {
            Ok(result) => {
                progress.failed = None;
                progress.done.insert(step, result);
            }
            Err(error) => {
                let times = progress.failure(&step).map_or(0, |failed| failed.times);
                let pause = limits::RETRY.saturating_mul(1 << times.min(10)).min(limits::LONGEST_RETRY);
                let pause = chrono::TimeDelta::from_std(pause).unwrap_or_default();
                let error = shortened(format!("{error:#}"));
                let again = self.0.manager.clock().now() + pause;
                progress.failed = Some(Failed { step, error, again, times: times.saturating_add(1) });
            }
        }
        self.0.queue.add(entry.request.clone(), Cause::Outside);
    }
}

/// Returns the time until `again`.
pub(super) fn until(again: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (again - now).to_std().unwrap_or_default()
}

fn shortened(mut text: String) -> String {
    if text.len() > limits::MESSAGE {
        let end = (0..=limits::MESSAGE).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}
