//! Limits of what the controllers keep. docs/metrics.md says what counts them.

use std::time::Duration;

/// Events of a component that wait to be recorded; as client-go.
pub const EVENTS_QUEUED: usize = 1000;
/// Events that a component records about one object at once; as client-go.
pub const EVENT_BURST: u32 = 25;
/// The time after which a component may record one more event about an object that used up its burst; as client-go.
pub const EVENT_INTERVAL: Duration = Duration::from_secs(300);
/// Objects of a component whose events are counted; as client-go. The one with the oldest event is forgotten first.
pub const EVENT_OBJECTS: usize = 4096;
/// Connections to a listener of the simulated network that it has not accepted yet; the backlog of Linux.
pub const CONNECTIONS_QUEUED: usize = 4096;
