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
/// Transfers over TFTP at the same time.
pub const TRANSFERS: usize = 512;
/// The largest block of TFTP that fits one Ethernet frame.
pub const BLOCK: usize = 1468;
/// The largest window of TFTP.
pub const WINDOW: usize = 64;
/// How long a block may stay unacknowledged when the client asks for nothing else.
pub const TFTP_PATIENCE: Duration = Duration::from_secs(1);
/// How often a block is sent again before the client is given up.
pub const TFTP_TRIES: u32 = 6;
/// Connections of HTTP at the same time, on each address.
pub const CONNECTIONS: usize = 1024;
/// How long a client may take for a TLS handshake, and for the head of a request.
pub const HANDSHAKE: Duration = Duration::from_secs(20);
/// The largest report of an agent.
pub const REPORT: usize = 4 << 20;
/// How long a request for the next instruction waits.
pub const INSTRUCTION: Duration = Duration::from_secs(30);
/// Parts in which files are read.
pub const FILE_PART: usize = 512 << 10;
