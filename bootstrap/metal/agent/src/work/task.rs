//! What instructions work with, and what they tell of themselves while they run.

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

/// What instructions work with.
#[derive(Clone)]
pub struct Machine {
    /// Time, randomness, the log.
    pub tools: Tools,
    /// The server.
    pub server: Server,
    /// The interfaces that have addresses.
    pub attached: Vec<Attached>,
    /// The interface that the machine was started from.
    pub boot: [u8; 6],
    /// What is at the other end of the cables.
    pub neighbours: Neighbours,
    /// Tells when all devices are there.
    pub devices: Devices,
    /// Where progress goes.
    pub reporter: Arc<Reporter>,
    /// Whom images are fetched from over HTTPS, PEM.
    pub authorities: String,
}

/// What an instruction tells of itself while it runs, and by which it learns that it is to end.
#[derive(Clone)]
pub struct Task {
    id: String,
    reporter: Arc<Reporter>,
    ended: Arc<AtomicBool>,
}

impl Task {
    /// The task of the instruction `id`.
    pub fn new(id: String, reporter: Arc<Reporter>) -> Self {
        Self { id, reporter, ended: Arc::default() }
    }

    /// Of which instruction.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// So many bytes are done, of so many.
    pub fn progress(&self, message: &str, done: u64, total: u64) {
        self.set(State::Running, message, done, total, None);
    }

    /// Fails when another instruction has come.
    ///
    /// # Errors
    /// Then.
    pub fn check(&self) -> Result<()> {
        if self.ended.load(Ordering::Relaxed) {
            bail!("ended by another instruction");
        }
        Ok(())
    }

    /// Another instruction has come.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// How the instruction fares, with what it has found out.
    pub fn set(&self, state: State, message: &str, done: u64, total: u64, inventory: Option<Value>) {
        let progress = Progress { id: self.id.clone(), state, message: message.to_owned(), done, total };
        self.reporter.set(progress, inventory);
    }
}
