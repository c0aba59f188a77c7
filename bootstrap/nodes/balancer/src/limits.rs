//! How many connections a balancer has, and how long it waits for servers.

use std::time::Duration;

/// The most connections at a time. More wait in the queue of the kernel until one ends.
pub const CONNECTIONS: usize = 8192;
/// The open files that are not of connections: the sockets on which it listens, checks of servers, and connections that ask for the status.
pub const OTHER_FILES: u64 = 256;
/// The most bytes that are moved at once, and that are kept for a receiver that is slow.
pub const PIECE: usize = 16 << 10;
/// The largest configuration in bytes.
pub const CONFIGURATION: u64 = 256 << 10;
/// The largest status in bytes.
pub const STATUS: u64 = 1 << 20;
/// How long a client may say nothing after it has connected. Clients of TLS speak first, and at once.
pub const SPEAK: Duration = Duration::from_secs(10);
/// How long a connection to a server may take (haproxy's `timeout connect` in CAPD).
pub const CONNECT: Duration = Duration::from_secs(5);
/// How long a client waits for a server that takes its connection. Meanwhile, kubeadm sees no error while its API server starts.
pub const HOLD: Duration = Duration::from_secs(10);
/// How long each of the two steps of a check may take: the connection, and the answer.
pub const CHECK: Duration = Duration::from_secs(1);
/// The pause between two checks of a server that can be reached.
pub const CHECK_AGAIN: Duration = Duration::from_secs(1);
/// The pause between two checks of a server that cannot be reached, so that it is used soon after its start.
pub const CHECK_SOON: Duration = Duration::from_millis(250);
/// The number of checks without an answer in a row after which a server that can be reached is unhealthy: a busy machine is slow at times.
pub const SILENT_CHECKS: u32 = 2;
/// The number of checks in a row that are refused as anonymous after which a server counts as ready. One that starts refuses some until it knows
/// its roles.
pub const FORBIDDEN_CHECKS: u32 = 10;
/// The longest first line of an answer to a check in bytes.
pub const ANSWER: usize = 512;
/// The pause between two looks at the configuration.
pub const LOOK: Duration = Duration::from_millis(200);
/// The pause after an error of the kernel at the acceptance of a connection.
pub const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// How long a balancer may take to say its status.
pub const ASK: Duration = Duration::from_secs(2);
/// After this time without data, the other side of a connection is asked whether it is still there, and again after each [`PROBE`].
pub const QUIET: Duration = Duration::from_secs(30);
/// See [`QUIET`].
pub const PROBE: Duration = Duration::from_secs(10);
/// The number of questions without an answer after which a connection ends.
pub const PROBES: u32 = 3;

/// Returns how many connections a process may have that may open this many files: each has two.
pub fn connections(files: u64) -> usize {
    usize::try_from(files.saturating_sub(OTHER_FILES) / 2).unwrap_or(CONNECTIONS).clamp(1, CONNECTIONS)
}

/// Returns how many of all connections one client may have: a quarter of them. Pods that open thousands leave room for other nodes.
pub fn share(connections: usize) -> usize {
    (connections / 4).max(1)
}
