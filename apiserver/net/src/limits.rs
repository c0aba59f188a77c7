//! The limits of connections to other machines.

use std::time::Duration;

/// How long a connection may take, with a proxy's answer, but without TLS to the other end.
pub const CONNECT: Duration = Duration::from_secs(30);
/// Pause after which the next address of a name is tried, while the one before has not answered.
pub const NEXT_ADDRESS: Duration = Duration::from_millis(300);
/// Maximum size in bytes of the head of a proxy's answer to CONNECT.
pub const PROXY_ANSWER: usize = 16 * 1024;
/// Connections to a listener of the simulated network that it has not accepted yet; the backlog of Linux.
pub const CONNECTIONS_QUEUED: usize = 4096;
/// The size of the parts in which files are sent, in bytes.
pub const FILE_PART: usize = 512 << 10;
/// The longest id of a request that its client may choose, in bytes.
pub const REQUEST_ID_BYTES: usize = 64;
