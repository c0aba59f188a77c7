//! Every limit of the store, by name.

use std::time::Duration;

/// History reaches back at least this many revisions, also across a restart.
pub const HISTORY_REVISIONS: u64 = 10_000;

/// History reaches back at least this long, also across a restart.
pub const HISTORY_AGE: Duration = Duration::from_secs(600);

/// Values of the history that are kept in memory, bytes. Older ones are read from the engine when a watcher or a list goes back that
/// far, which is rare: clients that lost their connection come back within seconds.
pub const HISTORY_MEMORY_BYTES: usize = 16 << 20;

/// Events that a watcher or a check takes from the history at a time.
pub const READ_EVENTS: usize = 256;

/// A commit trims at most this many events, so that trimming never holds up a write noticeably.
pub const TRIM_EVENTS_MAX: usize = 512;

/// When nothing was written for so long, the engine prepares for the next start.
pub const QUIET: Duration = Duration::from_secs(1);

/// A disk that has been at one batch for so long is not healthy.
pub const STUCK: Duration = Duration::from_secs(30);

/// Operations that one batch (one fsync) takes at most, unless a single transaction is larger.
pub const BATCH_OPERATIONS_MAX: usize = 2_000;

/// Events that wait for a watcher at most. One that falls further behind goes on from the history.
pub const WATCH_QUEUE_EVENTS: usize = 1_000;

/// Bytes of the events that wait for all watchers together at most, each event counted once. Beyond, all of them go on from the history.
pub const WATCH_QUEUES_BYTES: usize = 32 << 20;

/// Bytes of events that a watcher takes from the history at a time; one event at least.
pub const WATCH_CHUNK_BYTES: usize = 64 << 10;

/// What objects and history may take, bytes, unless the caller says otherwise: etcd's default. All objects are in memory, too.
pub const QUOTA_BYTES: u64 = 2 << 30;

/// Parts of the quota, of [`QUOTA_PARTS`], from which on the history gives way.
pub const QUOTA_TIGHT_PARTS: u64 = 14;

/// Parts of the quota, of [`QUOTA_PARTS`], that the history may keep then.
pub const QUOTA_HISTORY_PARTS: u64 = 1;

/// Parts beyond the quota, of [`QUOTA_PARTS`], for what belongs to a deletion.
pub const QUOTA_REMOVAL_PARTS: u64 = 1;

/// Into how many parts the quota is divided.
pub const QUOTA_PARTS: u64 = 16;

/// Bytes of the history where nothing but memory keeps it.
pub const MEMORY_HISTORY_BYTES: usize = 64 << 20;

/// Bytes that are kept free for deletions on a disk that is full.
pub const RESERVE_BYTES: u64 = 16 << 20;

/// A file is made smaller when nobody writes, and it is so many times as large as what it holds.
pub const COMPACT_FACTOR: u64 = 4;

/// A file up to this size, bytes, is left as it is.
pub const COMPACT_FROM_BYTES: u64 = 64 << 20;

/// Memory that the embedded engine may use for caching its file. Reads come from the store's own memory, so the cache only
/// has to hold the inner pages that commits touch.
pub const EMBEDDED_CACHE_BYTES: usize = 8 << 20;

/// How far back a store's history reaches, and how much the store may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// At least so many revisions, as far as `bytes` and `quota` allow it.
    pub revisions: u64,
    /// At least so long, as far as `bytes` and `quota` allow it.
    pub age: Duration,
    /// At most so many bytes of values in memory; the engine has the others.
    pub memory: usize,
    /// At most so many bytes of values, wherever they are.
    pub bytes: usize,
    /// What objects and history may take together, bytes.
    pub quota: u64,
}

impl HistoryLimits {
    /// Bytes of the history when the quota is near.
    pub(crate) fn bytes_when_tight(&self) -> usize {
        let part = self.quota / QUOTA_PARTS * QUOTA_HISTORY_PARTS;
        self.bytes.min(usize::try_from(part).unwrap_or(usize::MAX))
    }

    /// Of a store on a disk.
    pub const DEFAULT: Self = Self {
        revisions: HISTORY_REVISIONS,
        age: HISTORY_AGE,
        memory: HISTORY_MEMORY_BYTES,
        bytes: usize::MAX,
        quota: QUOTA_BYTES,
    };

    /// Of a store that nothing but memory keeps.
    pub fn in_memory() -> Self {
        Self { bytes: MEMORY_HISTORY_BYTES, ..Self::default() }
    }
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
