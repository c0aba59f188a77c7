//! Every limit of HTTP, and of what machines may say and fetch.

use std::time::Duration;

pub(crate) use metal_boot::limits::duration;

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
/// How long a request for the next instruction waits.
pub const INSTRUCTION: Duration = Duration::from_secs(30);
/// Parts in which files are read.
pub const FILE_PART: usize = 512 << 10;
