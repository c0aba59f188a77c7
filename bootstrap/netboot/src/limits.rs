//! The limits of all services.

use std::time::Duration;

/// The lease time if the client requests none.
pub const LEASE: Duration = Duration::from_secs(3600);
/// The shortest lease time that a client can request: machines renew after half of it.
pub const LEASE_SHORTEST: Duration = Duration::from_secs(120);
/// How long an offered address is reserved for the machine.
pub const OFFER: Duration = Duration::from_secs(60);
/// How long an address that a machine declined, because it was in use elsewhere, is not leased.
pub const DECLINED: Duration = Duration::from_secs(600);
/// The largest number of open offers, so that a client that makes up MAC addresses cannot use more memory.
pub const OFFERS: usize = 4096;
/// How long another DHCP server may take to answer the probe at the start.
pub const OTHER_SERVER: Duration = Duration::from_secs(2);
/// Leases that are written as objects at the same time.
pub const LEASE_OBJECTS: usize = 8;
/// The first pause before leases are written as objects again after a failure; each further failure doubles it.
pub const LEASE_PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause, see [`LEASE_PAUSE_MIN`].
pub const LEASE_PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long a machine that starts the agent waits for its lease to be written as an object.
pub const LEASE_OBJECT: Duration = Duration::from_secs(5);
/// The largest DHCP message that is read, in bytes.
pub const MESSAGE: usize = 1500;
/// One of this many addresses is kept for machines with a BareMetalHost, so that a client that makes up MAC addresses cannot take all.
pub const KEPT_ADDRESSES: u64 = 4;
/// The largest number of addresses that are blocked because machines declined them.
pub const DECLINES: usize = 64;
/// TFTP transfers at the same time.
pub const TRANSFERS: usize = 512;
/// TFTP transfers of one client at the same time.
pub const TRANSFERS_OF_ONE: usize = 8;
/// TFTP transfers of machines without a BareMetalHost at the same time; the others are kept for known machines.
pub const TRANSFERS_OF_STRANGERS: usize = 384;
/// The largest TFTP block that fits one Ethernet frame, in bytes.
pub const BLOCK: usize = 1468;
/// The largest TFTP window, in blocks.
pub const WINDOW: usize = 64;
/// How long a block may stay unacknowledged if the client requests no other timeout.
pub const TFTP_PATIENCE: Duration = Duration::from_secs(1);
/// The longest timeout that a client can request.
pub const TFTP_PATIENCE_MAX: Duration = Duration::from_secs(5);
/// How often a block is sent again before the transfer is aborted.
pub const TFTP_TRIES: u32 = 6;
/// How often the first message of a transfer is sent again, each time after [`TFTP_PATIENCE`]: its source address may be forged.
pub const TFTP_FIRST_TRIES: u32 = 4;
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
/// Addresses of another DHCP server that are remembered.
pub const OBSERVED: usize = 4096;
/// How long an observed address of another DHCP server is attributed to its machine.
pub const OBSERVED_TIME: Duration = Duration::from_secs(24 * 3600);
/// How long a request for the next instruction waits.
pub const INSTRUCTION: Duration = Duration::from_secs(30);
/// The size of the parts in which files are read, in bytes.
pub const FILE_PART: usize = 512 << 10;

/// Converts a limit to a `chrono` duration.
pub fn duration(limit: Duration) -> chrono::Duration {
    chrono::Duration::from_std(limit).unwrap_or(chrono::Duration::MAX)
}
