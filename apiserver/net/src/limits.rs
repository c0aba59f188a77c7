//! The limits of connections to other machines.

use std::time::Duration;

/// How long a connection may take, with a proxy's answer, but without TLS to the other end.
pub const CONNECT: Duration = Duration::from_secs(30);
/// Pause after which the next address of a name is tried, while the one before has not answered.
pub const NEXT_ADDRESS: Duration = Duration::from_millis(300);
/// Maximum size in bytes of the head of a proxy's answer to CONNECT.
pub const PROXY_ANSWER: usize = 16 * 1024;
