//! The dependencies and the handle of a running instruction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_protocol::{Progress, State};
use anyhow::{Result, bail};
use serde_json::Value;

use super::progress::Reporter;
use crate::devices::Devices;
use crate::network::lldp::Neighbours;
use crate::network::{Attached, Tools};
use crate::server::Server;

/// The dependencies of instructions.
#[derive(Clone)]
pub struct Machine {
    /// The clock, the source of randomness, the log.
    pub tools: Tools,
    /// The server.
    pub server: Server,
    /// The interfaces with addresses.
    pub attached: Vec<Attached>,
    /// The MAC address of the interface that the machine booted from.
    pub boot: [u8; 6],
    /// The switches at the other ends of the cables.
    pub neighbours: Neighbours,
    /// Reports when all devices have appeared.
    pub devices: Devices,
    /// Receives the progress.
    pub reporter: Arc<Reporter>,
    /// The certificate authorities of image servers, PEM.
    pub authorities: String,
}

/// The handle of a running instruction: reports its progress, and shows whether it must end.
#[derive(Clone)]
pub struct Task {
    id: String,
    reporter: Arc<Reporter>,
    ended: Arc<AtomicBool>,
}

impl Task {
    /// Creates the handle for the instruction `id`.
    pub fn new(id: String, reporter: Arc<Reporter>) -> Self {
        Self { id, reporter, ended: Arc::default() }
    }

    /// Returns the identifier of the instruction.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reports the bytes done and the total.
    pub fn progress(&self, message: &str, done: u64, total: u64) {
        self.set(State::Running, message, done, total, None);
    }

    /// Fails if another instruction has arrived.
    ///
    /// # Errors
    /// The instruction must end.
    pub fn check(&self) -> Result<()> {
        if self.ended.load(Ordering::Relaxed) {
            bail!("ended by another instruction");
        }
        Ok(())
    }

    /// Tells the instruction to end.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Reports the state of the instruction, with the inventory if it has one.
    pub fn set(&self, state: State, message: &str, done: u64, total: u64, inventory: Option<Value>) {
        let progress = Progress { id: self.id.clone(), state, message: message.to_owned(), done, total };
        self.reporter.set(progress, inventory);
    }
}
