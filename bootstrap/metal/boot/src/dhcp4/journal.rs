//! Leases on the disk. A lease is an object of the API, and to make one takes too long when five hundred machines boot at once. So a
//! lease is first a line of a file: all waiting leases are written and synced together, then their machines are answered, then the
//! objects are made, and the file is emptied when all objects exist.
//!
//! Invariant: if the process ends or the power fails at any time, a lease that a machine was told of is in the file or is an object of
//! the API; a restart reads both. A damaged end of the file is an unfinished write, and no machine was told of its leases.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use futures::future::join_all;
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::limits;
use crate::machine::{Directory, Lease};

/// The file of leases that are not objects of the API yet.
pub struct Journal {
    disk: Arc<Mutex<Disk>>,
    queue: Mutex<Queue>,
    queued: Notify,
    /// The leases in the file that have no object yet. A lease stays here until its object is known to be written.
    pending: Mutex<BTreeMap<MacAddress, Lease>>,
    /// Notified when a lease becomes pending.
    added: Notify,
    /// Notified when pending leases have become objects.
    written: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(Lease, oneshot::Sender<()>)>,
    /// A batch has been taken from the queue, and its leases are not pending yet.
    is_being_written: bool,
}

struct Disk {
    file: File,
    /// The offset of the next line, which is behind everything that is synced.
    length: u64,
    /// There may be an unfinished write behind `length`.
    is_torn: bool,
}

impl Disk {
    /// Writes and syncs `lines`. After an error, the next call first truncates the file to `length`; if that fails, nothing is written.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.is_torn, true) {
            self.file.set_len(self.length)?;
        }
        self.file.write_all_at(lines, self.length)?;
        self.file.sync_data()?;
        self.length += lines.len() as u64;
        self.is_torn = false;
        Ok(())
    }

    /// Empties the file. No sync is needed: leases that are read again after a crash are only written as objects again.
    fn empty(&mut self) -> io::Result<()> {
        if self.length > 0 {
            self.file.set_len(0)?;
            self.length = 0;
        }
        Ok(())
    }
}

impl Journal {
    /// Opens or creates the file, and returns the leases in it in the order in which they were appended.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Lease>)> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        // Sync the folder, so that the file's name survives a power failure.
        File::open(folder)?.sync_all()?;
        let content = std::fs::read(path)?;
        let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines = content[..whole].split(|byte| *byte == b'\n');
        let leases: Vec<Lease> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let disk = Disk { file, length: whole as u64, is_torn: true };
        let pending = leases.iter().map(|lease| (lease.mac, lease.clone())).collect();
        let journal = Self {
            disk: Arc::new(Mutex::new(disk)),
            queue: Mutex::default(),
            queued: Notify::new(),
            pending: Mutex::new(pending),
            added: Notify::new(),
            written: Notify::new(),
        };
        Ok((journal, leases))
    }

    /// Queues a lease to be written. The receiver gets a message when the lease is on the disk, and is closed if that failed. Leases
    /// are written in the order of the calls.
    pub fn append(&self, lease: Lease) -> oneshot::Receiver<()> {
        let (sender, on_disk) = oneshot::channel();
        self.queue.lock().waiting.push((lease, sender));
        self.queued.notify_one();
        on_disk
    }

    /// Writes the queued leases, for ever; leases that arrive during one sync are written together by the next.
    pub async fn commit(&self) {
        loop {
            self.queued.notified().await;
            let batch = {
                let mut queue = self.queue.lock();
                queue.is_being_written = true;
                std::mem::take(&mut queue.waiting)
            };
            let mut lines = Vec::new();
            for (lease, _) in &batch {
                if serde_json::to_writer(&mut lines, lease).is_ok() {
                    lines.push(b'\n');
                }
            }
            let disk = self.disk.clone();
            let appended = tokio::task::spawn_blocking(move || disk.lock().append(&lines)).await;
            if let Err(error) = appended.unwrap_or_else(|error| Err(error.into())) {
                let leases = batch.len();
                tracing::warn!(leases, %error, "leases cannot be written to the disk; their machines are not answered");
            } else {
                let mut pending = self.pending.lock();
                for (lease, on_disk) in batch {
                    pending.insert(lease.mac, lease);
                    // If the lease was given back meanwhile, nothing receives this message.
                    let _ = on_disk.send(());
                }
                self.added.notify_one();
            }
            self.queue.lock().is_being_written = false;
        }
    }

    /// Makes objects of the pending leases, for ever, and empties the file when none are left.
    pub async fn follow(&self, directory: &dyn Directory, clock: &Clock) {
        let (mut last, mut pause) = (None, limits::LEASE_PAUSE_MIN);
        loop {
            let batch = self.next(last);
            let Some(end) = batch.last() else {
                if last.take().is_none() {
                    self.empty();
                    self.added.notified().await;
                }
                continue;
            };
            last = Some(end.mac);
            let writes = batch.iter().map(|lease| directory.write_lease(lease.clone()));
            let mut failed = false;
            for (lease, wrote) in batch.iter().zip(join_all(writes).await) {
                let mut pending = self.pending.lock();
                match wrote {
                    // Remove the lease only if it has not been replaced by a newer one meanwhile.
                    Ok(()) if pending.get(&lease.mac) == Some(lease) => drop(pending.remove(&lease.mac)),
                    Ok(()) => {}
                    Err(error) => {
                        failed = true;
                        tracing::warn!(mac = %lease.mac, address = %lease.address, %error, "the lease is on the disk and no object yet");
                    }
                }
            }
            self.written.notify_waiters();
            if failed {
                clock.sleep(pause).await;
                pause = (pause * 2).min(limits::LEASE_PAUSE_MAX);
            } else {
                pause = limits::LEASE_PAUSE_MIN;
            }
        }
    }

    /// Returns a batch of pending leases of machines behind `last`. Every machine has its turn, even if the writes of others fail.
    fn next(&self, last: Option<MacAddress>) -> Vec<Lease> {
        let pending = self.pending.lock();
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        pending
            .range((from, Bound::Unbounded))
            .take(limits::LEASE_OBJECTS)
            .map(|(_, lease)| lease.clone())
            .collect()
    }

    /// Empties the file if every lease in it is an object.
    fn empty(&self) {
        let (queue, pending) = (self.queue.lock(), self.pending.lock());
        if !queue.is_being_written
            && pending.is_empty()
            && let Err(error) = self.disk.lock().empty()
        {
            tracing::warn!(%error, "the file of leases cannot be emptied");
        }
    }

    /// Waits until the lease of the machine is an object.
    pub async fn wait_until_object(&self, mac: MacAddress) {
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            if !self.pending.lock().contains_key(&mac) {
                return;
            }
            written.await;
        }
    }
}
