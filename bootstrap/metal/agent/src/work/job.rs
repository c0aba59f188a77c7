//! The execution of an instruction.

use std::path::Path;
use std::time::Duration;

use agent_protocol::{Action, Instruction, State};
use anyhow::{Context, Result};
use rustix::system::{RebootCommand, reboot};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::disks;
use super::task::{Machine, Task};
use crate::inventory::{Known, inventory, is_virtual};

/// The longest time that a restart waits for the server to receive the last report.
const TELL_TIME: Duration = Duration::from_secs(5);

/// A running instruction.
pub struct Job {
    task: Task,
    work: JoinHandle<()>,
}

impl Job {
    /// Starts the instruction in a task of its own.
    pub fn start(instruction: Instruction, machine: Machine) -> Self {
        let task = Task::new(instruction.id, machine.reporter.clone());
        let of_work = task.clone();
        let work = tokio::spawn(async move {
            let journal = machine.tools.journal.clone();
            let name = name(&instruction.action);
            if instruction.action != Action::Wait {
                journal.line(format!("{name}: begins"));
            }
            of_work.set(State::Running, "", 0, 0, None);
            // A task of its own, so that a panic only fails this instruction.
            let (inner, action) = (of_work.clone(), instruction.action);
            let done = tokio::spawn(async move { execute(action, &inner, &machine).await }).await;
            match done.context("internal error").flatten() {
                Ok(Outcome { inventory, message }) => {
                    if name != "wait" {
                        journal.line(format!("{name}: done {message}").trim_end());
                    }
                    of_work.set(State::Done, &message, 0, 0, inventory);
                }
                Err(error) => {
                    journal.line(format!("{name}: failed: {error:#}"));
                    of_work.set(State::Failed, &format!("{error:#}"), 0, 0, None);
                }
            }
        });
        Self { task, work }
    }

    /// Returns the identifier of the instruction.
    pub fn id(&self) -> &str {
        self.task.id()
    }

    /// Ends the instruction, and waits until it writes to no disk.
    pub async fn end(self) {
        self.task.end();
        // The instruction's failure is irrelevant after it was ended.
        let _ = self.work.await;
    }
}

fn name(action: &Action) -> &'static str {
    match action {
        Action::Wait => "wait",
        Action::Inspect => "inspect",
        Action::Clean { .. } => "clean",
        Action::Deploy(_) => "deploy",
        Action::Restart => "restart",
        Action::PowerOff => "power off",
    }
}

/// The result of an instruction.
#[derive(Default)]
struct Outcome {
    inventory: Option<Value>,
    message: String,
}

async fn execute(action: Action, task: &Task, machine: &Machine) -> Result<Outcome> {
    match action {
        Action::Wait => Ok(Outcome::default()),
        Action::Inspect => {
            machine.devices.settle().await;
            // A virtual machine has no cables, so there are no neighbours to wait for.
            if !is_virtual(Path::new("/")) {
                machine.neighbours.settle(Path::new("/sys/class/net")).await;
            }
            let addresses = machine.attached.iter().map(|by| (by.link.name.clone(), by.address)).collect();
            let known = Known { addresses, boot: Some(machine.boot), neighbours: machine.neighbours.heard() };
            let found = tokio::task::spawn_blocking(move || inventory(Path::new("/"), &known)).await;
            let inventory = Some(found.context("cannot look at the machine")?);
            Ok(Outcome { inventory, ..Outcome::default() })
        }
        Action::Clean { erase } => {
            let message = disks::clean_all(erase, task, machine).await?;
            Ok(Outcome { message, ..Outcome::default() })
        }
        Action::Deploy(deployment) => {
            disks::deploy(&deployment, task, machine).await.map(|()| Outcome::default())
        }
        Action::Restart => leave(RebootCommand::Restart, task, machine).await,
        Action::PowerOff => leave(RebootCommand::PowerOff, task, machine).await,
    }
}

async fn leave(command: RebootCommand, task: &Task, machine: &Machine) -> Result<Outcome> {
    task.set(State::Done, "the machine goes down", 0, 0, None);
    machine.reporter.known(TELL_TIME).await;
    tokio::task::spawn_blocking(rustix::fs::sync).await.context("cannot write what is in memory")?;
    reboot(command).context("the kernel refuses to go down")?;
    Ok(Outcome::default())
}
