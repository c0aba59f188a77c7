//! Locks between operations, also those of other processes. The kernel releases a lock with the process that has it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use machinery::random::Random;

use super::Own;
use crate::limits;

/// The pause between two attempts to get a lock.
const AGAIN: Duration = Duration::from_millis(10);
/// The folder of the locks, and the lock of what all containers share. No container has this name.
pub(super) const FOLDER: &str = "locks";
const ALL: &str = "_all";
/// The number of hexadecimal digits of an identity: the names of links have room for no more.
const DIGITS: usize = 7;

/// A lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Returns the locked file. Whoever inherits it has the lock.
    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Removes the file of the lock. Whoever waits for it makes another one.
    pub(super) fn remove(self) {
        fs::remove_file(&self.path).ok();
    }
}

impl Own {
    /// Waits until no other operation changes the container.
    pub(super) async fn lock(&self, name: &str) -> Result<Lock> {
        take(&self.clock, &self.data.join(FOLDER).join(name), limits::WAIT).await
    }

    /// Waits until no other operation changes what all containers share.
    pub(super) async fn lock_all(&self) -> Result<Lock> {
        self.lock(ALL).await
    }
}

/// Waits for a lock.
pub(super) async fn take(clock: &Clock, path: &Path, time: Duration) -> Result<Lock> {
    let deadline = clock.monotonic() + time;
    loop {
        if let Some(lock) = attempt(path)? {
            return Ok(lock);
        }
        if clock.monotonic() >= deadline {
            bail!(
                "another operation has {} for more than {} s: wait for its end",
                path.display(),
                time.as_secs()
            );
        }
        clock.sleep(AGAIN).await;
    }
}

/// Takes a lock; `None` if somebody has it.
pub(super) fn attempt(path: &Path) -> Result<Option<Lock>> {
    Ok(files::try_lock(path)?.map(|file| Lock { file, path: path.to_owned() }))
}

/// Returns the identity of a data directory, and makes one if it has none. It moves with the directory.
pub(super) async fn identity(clock: &Clock, data: &Path, random: &Random) -> Result<String> {
    let _lock = take(clock, &data.join(FOLDER).join(ALL), limits::WAIT).await?;
    let path = data.join("identity");
    if !path.exists() {
        let mut bytes = [0; 4];
        random.fill(&mut bytes);
        let digits = format!("{:08x}", u32::from_be_bytes(bytes));
        files::write(&path, 0o600, &digits.as_bytes()[..DIGITS])?;
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_identity = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure!(is_identity, "{} is damaged: remove it if the directory has no containers", path.display());
    Ok(text)
}
