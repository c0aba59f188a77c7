//! The data directory: which containers there are, the range of their network, and the locks between operations.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use machinery::clock::Clock;
use machinery::random::Random;
use system_containers::check_name;

use super::lock::{self, Lock};
use super::record::{self, Folder, Record};
use crate::limits;
use crate::network::{Network, Range};
use crate::supervisor::Steps;

/// The folder of the containers, and that of the locks.
const CONTAINERS: &str = "containers";
const LOCKS: &str = "locks";
/// The name of the lock on what all containers share. No container may be named so.
const ALL: &str = "_all";
/// The file with the range of the network.
const NETWORK: &str = "network.json";

pub(super) struct Data {
    path: PathBuf,
    identity: String,
    clock: Clock,
    steps: Steps,
}

impl Data {
    /// Opens a data directory, which is made if it does not exist.
    pub(super) async fn open(path: &Path, clock: Clock, random: &Random, steps: Steps) -> Result<Self> {
        let path = std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()))?;
        files::make_folder(&path, 0o700)?;
        let mut data = Self { path, identity: String::new(), clock, steps };
        let lock = data.lock_all().await?;
        data.identity = record::identity(&data.path, random)?;
        drop(lock);
        Ok(data)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the identity, which moves with the directory.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Says that an operation has come to a step.
    pub(super) fn step(&self, step: &str) {
        (self.steps)(&self.path, step);
    }

    /// Waits until no other operation changes the container.
    pub(super) async fn lock(&self, name: &str) -> Result<Lock> {
        lock::take(&self.clock, &self.path.join(LOCKS).join(name), limits::WAIT).await
    }

    /// Returns the lock of a container; `None` if another operation changes it.
    pub(super) fn try_lock(&self, name: &str) -> Result<Option<Lock>> {
        lock::attempt(&self.path.join(LOCKS).join(name))
    }

    /// Waits until no other operation changes what all containers share.
    pub(super) async fn lock_all(&self) -> Result<Lock> {
        self.lock(ALL).await
    }

    /// Returns the folder of a container.
    pub(super) fn folder(&self, name: &str) -> Folder {
        Folder::new(self.path.join(CONTAINERS).join(name))
    }

    /// Returns the record of a container.
    ///
    /// # Errors
    /// The container does not exist.
    pub(super) fn record(&self, name: &str) -> Result<Record> {
        self.folder(name).read()?.context("there is no such container: create it first")
    }

    /// Returns the names of all folders of containers, also of those that have no record.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let folder = self.path.join(CONTAINERS);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        // Only folders are containers.
        let folders = entries.flatten().filter(|entry| entry.path().is_dir());
        let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| check_name(name).is_ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the range of the network; `None` if none was chosen.
    pub(super) fn range(&self) -> Result<Option<Range>> {
        let range = record::read(&self.path.join(NETWORK));
        range.context("write the range of any record.json into it, or remove it if there are no containers")
    }

    pub(super) fn choose_range(&self, range: Range) -> Result<()> {
        record::write(&self.path.join(NETWORK), &range)
    }

    pub(super) fn forget_range(&self) -> Result<()> {
        let path = self.path.join(NETWORK);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
    }

    /// Returns the network of this range.
    pub(super) fn network(&self, range: Range) -> Network {
        Network { identity: self.identity.clone(), range }
    }
}
