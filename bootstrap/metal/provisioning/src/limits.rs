//! Every limit of the services.

use std::time::Duration;

/// How long an address is a machine's when nothing else is asked.
pub const LEASE: Duration = Duration::from_secs(3600);
/// The shortest lease that can be asked for: machines renew after half of it.
pub const LEASE_SHORTEST: Duration = Duration::from_secs(120);
/// An address that was offered is kept for the machine for so long.
pub const OFFER: Duration = Duration::from_secs(60);
/// An address that a machine found to be in use elsewhere is not given away for so long.
pub const DECLINED: Duration = Duration::from_secs(600);
/// Machines that offers are kept for: someone who makes up addresses gets no more.
pub const OFFERS: usize = 4096;
/// How long another DHCP server may take to answer before this one believes to be alone.
pub const OTHER_SERVER: Duration = Duration::from_secs(2);
/// Leases that are made objects at the same time.
pub const LEASE_OBJECTS: usize = 8;
/// How long to wait before leases are made objects after some could not be, at first and in the end.
pub const LEASE_PAUSE_MIN: Duration = Duration::from_millis(100);
/// See [`LEASE_PAUSE_MIN`].
pub const LEASE_PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long a machine that is to start the agent waits for its lease to be an object.
pub const LEASE_OBJECT: Duration = Duration::from_secs(5);
/// The largest message of DHCP that is read.
pub const MESSAGE: usize = 1500;
/// Of every so many addresses one is kept for machines that somebody described: who makes up machines gets the others.
pub const KEPT_ADDRESSES: u64 = 4;
/// Addresses that are not leased at a time because machines found them to be in use.
pub const DECLINES: usize = 64;
/// Transfers over TFTP at the same time.
pub const TRANSFERS: usize = 512;
/// Transfers over TFTP of one client at the same time.
pub const TRANSFERS_OF_ONE: usize = 8;
/// Transfers over TFTP of machines that nobody described: the others are kept for those that are known.
pub const TRANSFERS_OF_STRANGERS: usize = 384;
/// The largest block of TFTP that fits one Ethernet frame.
pub const BLOCK: usize = 1468;
/// The largest window of TFTP.
pub const WINDOW: usize = 64;
/// How long a block may stay unacknowledged when the client asks for nothing else.
pub const TFTP_PATIENCE: Duration = Duration::from_secs(1);
/// The longest that a client can ask for instead.
pub const TFTP_PATIENCE_MAX: Duration = Duration::from_secs(5);
/// How often a block is sent again before the client is given up.
pub const TFTP_TRIES: u32 = 6;
/// How often the first message is sent again, each time after [`TFTP_PATIENCE`]: whoever asked may be somebody else.
pub const TFTP_FIRST_TRIES: u32 = 4;
/// Connections of HTTP at the same time, on each address.
pub const CONNECTIONS: usize = 1024;
/// How long a client may take for a TLS handshake, and for the head of a request.
pub const HANDSHAKE: Duration = Duration::from_secs(20);
/// Connections of HTTP of one client at the same time, on all addresses of this server.
pub const CONNECTIONS_OF_ONE: usize = 32;
/// Connections of HTTP of machines that nobody described: the others are kept for those that are known.
pub const CONNECTIONS_OF_STRANGERS: usize = 768;
/// How long a client may take nothing of an answer before its connection is cut.
pub const STALLED: Duration = Duration::from_secs(60);
/// The largest enrolment of an agent, and the largest question for a challenge.
pub const ENROLMENT: usize = 16 << 10;
/// The longest word of an enrolment, in bytes: serial numbers, the UUID.
pub const WORD: usize = 128;
/// Interfaces that a machine may say it has.
pub const INTERFACES: usize = 128;
/// The largest report of an agent.
pub const REPORT: usize = 1 << 20;
/// The largest report of an agent whose machine is no host.
pub const UNKNOWN_REPORT: usize = 96 << 10;
/// The longest message of an instruction's progress, in characters.
pub const PROGRESS_MESSAGE: usize = 2000;
/// Bytes of an agent's log that are kept.
pub const LOG: usize = 64 << 10;
/// Bytes of the log that are kept of a machine that is no host.
pub const UNKNOWN_LOG: usize = 8 << 10;
/// Writes of one agent's object that do not wait for their turn, in ten seconds: instructions that begin and end, inventories.
pub const URGENT_WRITES: u32 = 20;
/// Machines that are no hosts and of which objects are kept.
pub const UNKNOWN_MACHINES: usize = 1024;
/// How long one address waits before it may be another unknown machine.
pub const UNKNOWN_AGAIN: Duration = Duration::from_secs(10);
/// An agent that enrols again within this time is answered without being written down again.
pub const ENROLLED_AGAIN: Duration = Duration::from_secs(1);
/// A machine that is no host and was silent for so long makes room for another one when there is none.
pub const UNKNOWN_SILENT: Duration = Duration::from_secs(600);
/// A machine that is no host and was silent for so long is forgotten.
pub const UNKNOWN_FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// How often machines are looked for that can be forgotten.
pub const FORGET_EVERY: Duration = Duration::from_secs(120);
/// A machine that waits for a person's approval and did not ask for so long waits no more.
pub const APPROVAL_WAITS: Duration = Duration::from_secs(60);
/// The same warning about the same machine is an event no more often than this.
pub const ALERT: Duration = Duration::from_secs(60);
/// Warnings that are remembered for that.
pub const ALERTS: usize = 4096;
/// How long a machine that loads an image in several parts finds the same token in it.
pub const SAME_TOKEN: Duration = Duration::from_secs(300);
/// Tokens that are remembered for that, and for machines that have an address of another server.
pub const TOKENS: usize = 4096;
/// Addresses of another server's that are remembered.
pub const OBSERVED: usize = 4096;
/// How long an address that another server gave is taken for the machine's.
pub const OBSERVED_TIME: Duration = Duration::from_secs(24 * 3600);
/// How long a request for the next instruction waits.
pub const INSTRUCTION: Duration = Duration::from_secs(30);
/// Parts in which files are read.
pub const FILE_PART: usize = 512 << 10;

/// A limit as a span of times of day.
pub fn duration(limit: Duration) -> chrono::Duration {
    chrono::Duration::from_std(limit).unwrap_or(chrono::Duration::MAX)
}
