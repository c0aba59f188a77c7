//! Limits of what the controllers keep, and of what workload clusters send: their API servers are somebody else's, and may report objects
//! without end. docs/metrics.md says what counts them.

use std::time::Duration;

/// Events of a component that wait to be recorded; as client-go.
pub const EVENTS_QUEUED: usize = 1000;
/// Events with one reason that a component records about one object at once; client-go has the same number for all reasons together.
pub const EVENT_BURST: u32 = 25;
/// The time after which a component may record one more event with a reason that used up its burst; as client-go.
pub const EVENT_INTERVAL: Duration = Duration::from_secs(300);
/// Objects and reasons of a component whose events are counted; as client-go. The one with the oldest event is forgotten first.
pub const EVENT_OBJECTS: usize = 4096;

/// Bytes of memory that the cached objects of all workload clusters may take together. One cluster may take as much as all together leave
/// free, so that one gets half of it, and many hostile ones leave room for the others. The largest cluster that Kubernetes supports has
/// 5,000 Nodes, which take about 30 KB each.
pub const CLUSTERS_TOGETHER_BYTES: usize = 512 << 20;
/// Bytes of all answers that are being received from all workload clusters, shared like [`CLUSTERS_TOGETHER_BYTES`].
pub const ANSWERS_TOGETHER_BYTES: u64 = 256 << 20;
/// JSON objects within one object of a workload cluster. An empty one is two bytes of text, and can be a kilobyte in memory.
pub const OBJECT_PARTS: usize = 20_000;
