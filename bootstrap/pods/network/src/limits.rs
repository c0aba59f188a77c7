//! Every limit of the networks of Pods.

use std::time::Duration;

/// TCP connections that one Pod may have through the gateway. One that has ended counts until [`ENDED`].
pub const TCP_FLOWS: usize = 1024;
/// Destinations to which one Pod may send datagrams at a time.
pub const UDP_FLOWS: usize = 256;
/// Names that one Pod may look up at a time.
pub const LOOKUPS: usize = 64;
/// Packets for one Pod that wait until the gateway sends them.
pub const PACKETS: usize = 256;
/// Datagrams of one Pod that wait until they are sent to their destination.
pub const DATAGRAMS: usize = 64;
/// Packets of a Pod that the gateway reads in one go, before it looks for anything else.
pub const PACKETS_AT_ONCE: usize = 64;
/// The size of a packet in bytes. Packets never leave this machine, and large ones cost less.
pub const PACKET: usize = 65_520;
/// How long the gateway tries to connect to a destination.
pub const CONNECT: Duration = Duration::from_secs(30);
/// How long a Pod may take to complete a connection that the gateway has opened for it.
pub const OFFERED: Duration = Duration::from_secs(30);
/// How long the last packets of a connection that has ended are still translated.
pub const ENDED: Duration = Duration::from_secs(60);
/// Datagrams to a destination are forgotten after this time without any.
pub const UDP_IDLE: Duration = Duration::from_secs(60);
/// How long a name server has for its answer.
pub const LOOKUP: Duration = Duration::from_secs(5);
/// The time between two searches for connections that have ended.
pub const SWEEP: Duration = Duration::from_secs(10);
/// The pause after a connection that could not be accepted.
pub const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// The time in which the helper answers a request.
pub const HELPER: Duration = Duration::from_secs(10);
/// The largest message between the server and its helper in bytes.
pub const MESSAGE: usize = 4096;
