//! Leases on the disk. A lease is an object of the API, and making one takes longer than a machine that boots beside five hundred others
//! should wait. So a lease is first a line of a file: all leases that wait are written and synced at once, then their machines are
//! answered, then the objects follow, and the file is emptied when all of them are there.
//!
//! Invariant: whenever the process or the power ends, a lease that a machine was told of is in the file or an object of the API; who
//! starts anew reads both. What is damaged at the end of the file was being written, and nobody was told of it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use dhcp::MacAddress;
use futures::future::join_all;
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::limits;
use crate::machine::{Directory, Lease};

/// The file of leases that are no objects yet.
pub struct Journal {
    disk: Arc<Mutex<Disk>>,
    queue: Mutex<Queue>,
    queued: Notify,
    /// What the file holds that is no object yet, as far as is known.
    pending: Mutex<BTreeMap<MacAddress, Lease>>,
    /// There is something pending.
    added: Notify,
    /// Something pending has become an object.
    written: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(Lease, oneshot::Sender<()>)>,
    /// Some were taken, and are not pending yet.
    is_being_written: bool,
}

struct Disk {
    file: File,
    /// Where the next line goes: behind everything that is synced.
    length: u64,
    /// There may be something behind that.
    is_torn: bool,
}

impl Disk {
    /// Writes and syncs `lines`; after an error nothing of them is in the file, or nothing will be written any more.
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

    /// Needs no sync: leases that are read again are written as objects again.
    fn empty(&mut self) -> io::Result<()> {
        if self.length > 0 {
            self.file.set_len(0)?;
            self.length = 0;
        }
        Ok(())
    }
}

impl Journal {
    /// Opens the file, or makes it; the leases in it, in the order in which they were given.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Lease>)> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        // The file's name lasts, too.
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

    /// Takes a lease to be written; an answer comes when it is on the disk, and none when that failed. Leases are written in the order of
    /// the calls.
    pub fn append(&self, lease: Lease) -> oneshot::Receiver<()> {
        let (sender, on_disk) = oneshot::channel();
        self.queue.lock().waiting.push((lease, sender));
        self.queued.notify_one();
        on_disk
    }

    /// Writes what is appended, for ever; whatever came while one sync ran has part in the next.
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
                    // Nobody waits for a lease that was given back.
                    let _ = on_disk.send(());
                }
                self.added.notify_one();
            }
            self.queue.lock().is_being_written = false;
        }
    }

    /// Makes objects of the leases, for ever; when there are none left the file is emptied.
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
                    // A newer one may have come meanwhile.
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

    /// Some leases that are no objects yet, of machines behind `last`: each has its turn, whatever becomes of others.
    fn next(&self, last: Option<MacAddress>) -> Vec<Lease> {
        let pending = self.pending.lock();
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        pending
            .range((from, Bound::Unbounded))
            .take(limits::LEASE_OBJECTS)
            .map(|(_, lease)| lease.clone())
            .collect()
    }

    /// Empties the file unless there is something in it that is no object.
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
