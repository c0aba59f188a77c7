//! The limits of the store.

use std::time::Duration;

/// Minimum length of the history in revisions, also across a restart.
pub const HISTORY_REVISIONS: u64 = 10_000;

/// Minimum length of the history in time, also across a restart.
pub const HISTORY_AGE: Duration = Duration::from_secs(600);

/// Maximum size of the history's values in memory, in bytes. Older values are read from the engine when a watcher or a
/// list goes back that far. This is rare, because clients that lost their connection return within seconds.
pub const HISTORY_MEMORY_BYTES: usize = 16 << 20;

/// Maximum number of events that a watcher or a verification reads from the history at a time.
pub const READ_EVENTS: usize = 256;

/// Maximum number of events that a commit trims, so that trimming does not delay writes noticeably.
pub const TRIM_EVENTS_MAX: usize = 512;

/// After this time without a write, the engine prepares for the next start.
pub const QUIET: Duration = Duration::from_secs(1);

/// The store is unhealthy if the disk has been writing one batch for longer than this.
pub const STUCK: Duration = Duration::from_secs(30);

/// Maximum number of operations in one batch (one fsync), unless a single transaction is larger.
pub const BATCH_OPERATIONS_MAX: usize = 2_000;

/// Maximum number of events in the queue of a watcher. A watcher that falls further behind continues from the history.
pub const WATCH_QUEUE_EVENTS: usize = 1_000;

/// Maximum size of the events in all queues together, in bytes, with each event counted once. Above it, all watchers
/// continue from the history.
pub const WATCH_QUEUES_BYTES: usize = 32 << 20;

/// Maximum size of the events that a watcher reads from the history at a time, in bytes. It reads at least one event.
pub const WATCH_CHUNK_BYTES: usize = 64 << 10;

/// The memory of an object beside its value and its key in bytes: its places in the store, and what readers keep of it.
pub const OBJECT_BYTES: usize = 512;

/// Default quota in bytes, as in etcd: of objects and history on the disk, and of the objects in memory, where their values are not
/// compressed.
pub const QUOTA_BYTES: u64 = 2 << 30;

/// Number of [`QUOTA_PARTS`] of the quota from which on the history is shortened.
pub const QUOTA_TIGHT_PARTS: u64 = 14;

/// Number of [`QUOTA_PARTS`] of the quota that a shortened history may keep.
pub const QUOTA_HISTORY_PARTS: u64 = 1;

/// Number of [`QUOTA_PARTS`] that steps of deletions may take beyond the quota.
pub const QUOTA_REMOVAL_PARTS: u64 = 1;

/// The number of parts into which the quota is divided.
pub const QUOTA_PARTS: u64 = 16;

/// Maximum size of the history of a store in memory, in bytes.
pub const MEMORY_HISTORY_BYTES: usize = 64 << 20;

/// Size of the space that is reserved for deletions on a full disk, in bytes.
pub const RESERVE_BYTES: u64 = 16 << 20;

/// When nobody writes, a file is compacted if it is at least this many times as large as its content.
pub const COMPACT_FACTOR: u64 = 4;

/// Files up to this size, in bytes, are not compacted.
pub const COMPACT_FROM_BYTES: u64 = 64 << 20;

/// Size of the embedded engine's cache in bytes. Reads come from the store's own memory, so the cache only has to hold
/// the inner pages that commits touch.
pub const EMBEDDED_CACHE_BYTES: usize = 8 << 20;

/// The length of a store's history, and the size of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Minimum number of revisions, as far as `bytes` and `quota` allow it.
    pub revisions: u64,
    /// Minimum age, as far as `bytes` and `quota` allow it.
    pub age: Duration,
    /// Maximum size of values in memory, in bytes. The engine has the others.
    pub memory: usize,
    /// Maximum size of all values of the history, in bytes.
    pub bytes: usize,
    /// Maximum size of objects and history together on the disk, and of the objects in memory, in bytes.
    pub quota: u64,
}

impl HistoryLimits {
    /// Returns the maximum size of the history when the quota is nearly reached.
    pub(crate) fn bytes_when_tight(&self) -> usize {
        let part = self.quota / QUOTA_PARTS * QUOTA_HISTORY_PARTS;
        self.bytes.min(usize::try_from(part).unwrap_or(usize::MAX))
    }

    /// The limits of a store on disk.
    pub const DEFAULT: Self = Self {
        revisions: HISTORY_REVISIONS,
        age: HISTORY_AGE,
        memory: HISTORY_MEMORY_BYTES,
        bytes: usize::MAX,
        quota: QUOTA_BYTES,
    };

    /// Returns the limits of a store in memory.
    pub fn in_memory() -> Self {
        Self { bytes: MEMORY_HISTORY_BYTES, ..Self::default() }
    }
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
