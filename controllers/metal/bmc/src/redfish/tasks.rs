//! Work that a service continues after its answer (202): tasks, task monitors, and iDRAC's jobs.

use http::Method;
use serde_json::Value;

use super::http::Answer;
use super::links::link;
use super::message::message;
use super::service::Service;
use crate::{Error, Result, Task, TaskState, limits};

/// Returns the state in a response about a task. A monitor answers 202 while the task runs, and then with the outcome; a task or job
/// resource always returns its own representation.
pub fn state(status: u16, body: &Value) -> TaskState {
    let name = body["TaskState"].as_str().or(body["JobState"].as_str());
    let text = || match &body["Messages"] {
        Value::Array(list) if !list.is_empty() => {
            let texts: Vec<&str> = list.iter().filter_map(|entry| entry["Message"].as_str()).collect();
            texts.join("; ")
        }
        _ => body["Message"].as_str().map_or_else(|| message(body), str::to_owned),
    };
    match name {
        Some("Completed") if body["TaskStatus"] == "Critical" => TaskState::Failed { message: text() },
        Some("Completed") => TaskState::Done,
        Some(
            name @ ("Exception" | "Killed" | "Cancelled" | "Failed" | "CompletedWithErrors" | "Interrupted"),
        ) => TaskState::Failed { message: format!("{name}: {}", text()) },
        Some(name) => {
            let percent = body["PercentComplete"].as_u64().and_then(|percent| u8::try_from(percent).ok());
            TaskState::Running { percent, message: name.to_owned() }
        }
        None if status == 202 => TaskState::Running { percent: None, message: "running".to_owned() },
        None => TaskState::Done,
    }
}

/// Returns the task that an answer refers to.
pub(super) fn begun(answer: &Answer) -> Option<Task> {
    let here = answer.location.clone().or_else(|| answer.body["TaskMonitor"].as_str().map(str::to_owned));
    let is_task = answer.body.get("TaskState").is_some() || answer.status == 202;
    here.or_else(|| link(&answer.body, "").filter(|_| is_task)).map(|path| Task { path })
}

impl Service {
    /// Returns the state of a task.
    pub(super) async fn look_at(&self, task: &Task) -> Result<TaskState> {
        if task.path.is_empty() {
            return Ok(TaskState::Done);
        }
        match self.send(Method::GET, &task.path, None).await {
            Ok(answer) => Ok(state(answer.status, &answer.body)),
            // A monitor disappears after it has returned the outcome.
            Err(Error::Status { status: 404 | 410, .. }) => Ok(TaskState::Done),
            Err(Error::Status { status: 503, message, .. }) => {
                Ok(TaskState::Running { percent: None, message })
            }
            Err(Error::Status { message, .. }) => Ok(TaskState::Failed { message }),
            Err(error) => Err(error),
        }
    }

    /// Waits for the task of an answer, if it has one. A task that takes longer than [`limits::TASK_TIMEOUT`] is not waited for: the
    /// caller reads its result back anyway.
    pub(super) async fn settle(&self, answer: &Answer) -> Result<()> {
        let Some(task) = Some(answer).filter(|answer| answer.status == 202).and_then(begun) else {
            return Ok(());
        };
        let looking = async {
            loop {
                match self.look_at(&task).await? {
                    TaskState::Done => return Ok(()),
                    TaskState::Failed { message } => {
                        let (call, state) = (answer.call.clone(), "failure".to_owned());
                        return Err(Error::Task { call, state, message });
                    }
                    TaskState::Running { .. } => tokio::time::sleep(limits::TASK_INTERVAL).await,
                }
            }
        };
        tokio::time::timeout(limits::TASK_TIMEOUT, looking).await.unwrap_or(Ok(()))
    }
}

/// The attempts to read back what was written: services show it with a delay.
#[derive(Default)]
pub(super) struct ReadBack {
    again: u32,
}

impl ReadBack {
    /// Waits for the next attempt. Returns `false` if there is none.
    pub(super) async fn again(&mut self) -> bool {
        self.again += 1;
        let is_left = self.again < limits::READ_BACK_ATTEMPTS;
        if is_left {
            tokio::time::sleep(limits::READ_BACK_INTERVAL).await;
        }
        is_left
    }
}
