//! Every limit of HTTP, and of what machines may say and fetch.

use std::time::Duration;

pub(crate) use metal_boot::limits::duration;

/// HTTP connections at the same time, on each listener.
pub const CONNECTIONS: usize = 1024;
/// How long a client may take for a TLS handshake, for the head of a request, and for the body of an agent's request.
pub const HANDSHAKE: Duration = Duration::from_secs(20);
/// HTTP connections of one client at the same time.
pub const CONNECTIONS_OF_ONE: usize = 32;
/// HTTP connections of machines without a BareMetalHost at the same time; the others are kept for known machines.
pub const CONNECTIONS_OF_STRANGERS: usize = 768;
/// How long a client may accept nothing of a response before its connection is closed.
pub const STALLED: Duration = Duration::from_secs(60);
/// The largest body of an enrolment, and of a request for a challenge, in bytes.
pub const ENROLMENT: usize = 16 << 10;
/// The longest string of an enrolment, for example the serial number or the UUID, in bytes.
pub const WORD: usize = 128;
/// The largest number of interfaces in an enrolment.
pub const INTERFACES: usize = 128;
/// The largest report of an agent whose machine is a host, in bytes.
pub const REPORT: usize = 1 << 20;
/// The largest report of an agent whose machine is not a host, in bytes.
pub const UNKNOWN_REPORT: usize = 96 << 10;
/// The longest message of an instruction's progress, in characters.
pub const PROGRESS_MESSAGE: usize = 2000;
/// Bytes of a host's agent log that are kept.
pub const LOG: usize = 64 << 10;
/// Bytes of an agent log that are kept if the machine is not a host.
pub const UNKNOWN_LOG: usize = 8 << 10;
/// Urgent writes of one agent's object in ten seconds: the start and end of instructions, and inventories.
pub const URGENT_WRITES: u32 = 20;
/// The largest number of Agent objects of machines that are not hosts.
pub const UNKNOWN_MACHINES: usize = 1024;
/// How long a source address must wait before it may enrol as another unknown machine.
pub const UNKNOWN_AGAIN: Duration = Duration::from_secs(10);
/// An agent that enrols again within this time is answered without a write.
pub const ENROLLED_AGAIN: Duration = Duration::from_secs(1);
/// A machine that is not a host and has been silent for this long is deleted if [`UNKNOWN_MACHINES`] is reached.
pub const UNKNOWN_SILENT: Duration = Duration::from_secs(600);
/// A machine that is not a host and has been silent for this long is deleted.
pub const UNKNOWN_FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// How often machines and approvals are checked for expiry.
pub const FORGET_EVERY: Duration = Duration::from_secs(120);
/// A machine that waits for an approval is forgotten if it has not asked for this long.
pub const APPROVAL_WAITS: Duration = Duration::from_secs(60);
/// The shortest time between two events with the same warning about the same machine.
pub const ALERT: Duration = Duration::from_secs(60);
/// Warnings that are remembered for [`ALERT`].
pub const ALERTS: usize = 4096;
/// How long a machine that loads an image in several parts gets the same token in it.
pub const SAME_TOKEN: Duration = Duration::from_secs(300);
/// Tokens that are remembered for [`SAME_TOKEN`], and for machines with an address of another DHCP server.
pub const TOKENS: usize = 4096;
/// How long a request for the next instruction waits.
pub const INSTRUCTION: Duration = Duration::from_secs(30);
/// The largest report of an installed system about its bootstrap, in bytes.
pub const BOOTSTRAP_REPORT: usize = 16 << 10;
/// The longest message of such a report that is kept, in characters: its end.
pub const BOOTSTRAP_MESSAGE: usize = 4096;
/// The lines of such a message that are kept: the last ones.
pub const BOOTSTRAP_LINES: usize = 20;
/// The shortest time between two reports about one bootstrap. The report of its end may follow at once.
pub const BOOTSTRAP_PAUSE: Duration = Duration::from_secs(1);
/// The largest number of reports about one bootstrap, besides the report of its end.
pub const BOOTSTRAP_REPORTS: u32 = 2000;
/// How long after its provisioning a host takes reports.
pub const BOOTSTRAP_TIME: Duration = Duration::from_secs(6 * 3600);
