//! Every limit of the store, by name.

use std::time::Duration;

/// History reaches back at least this many revisions, also across a restart.
pub const HISTORY_REVISIONS: u64 = 10_000;

/// History reaches back at least this long, also across a restart.
pub const HISTORY_AGE: Duration = Duration::from_secs(600);

/// Values of the history that are kept in memory, bytes. Older ones are read from the engine when a watcher or a list goes back that
/// far, which is rare: clients that lost their connection come back within seconds.
pub const HISTORY_MEMORY_BYTES: usize = 16 << 20;

/// Events that are read from the engine at a time.
pub const READ_EVENTS: usize = 256;

/// A commit trims at most this many events, so that trimming never holds up a write noticeably.
pub const TRIM_EVENTS_MAX: usize = 512;

/// When nothing was written for so long, the engine prepares for the next start.
pub const QUIET: Duration = Duration::from_secs(1);

/// Operations that one batch (one fsync) takes at most, unless a single transaction is larger.
pub const BATCH_OPERATIONS_MAX: usize = 2_000;

/// Events that wait for a watcher at most; one that falls further behind is ended. As many as the history has
/// at least, so that one batch can never overflow the queue of a watcher that keeps up.
pub const WATCH_QUEUE_EVENTS: usize = 10_000;

/// Memory that the embedded engine may use for caching its file. Reads come from the store's own memory, so the cache only
/// has to hold the inner pages that commits touch.
pub const EMBEDDED_CACHE_BYTES: usize = 8 << 20;

/// How far back a store's history reaches; both limits must be passed before an event is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// At least so many revisions.
    pub revisions: u64,
    /// At least so long.
    pub age: Duration,
    /// At most so many bytes of values in memory.
    pub memory: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { revisions: HISTORY_REVISIONS, age: HISTORY_AGE, memory: HISTORY_MEMORY_BYTES }
    }
}
