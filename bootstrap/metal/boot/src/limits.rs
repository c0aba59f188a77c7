//! Every limit of DHCP and TFTP.

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
/// Addresses of another server's that are remembered.
pub const OBSERVED: usize = 4096;
/// How long an address that another server gave is taken for the machine's.
pub const OBSERVED_TIME: Duration = Duration::from_secs(24 * 3600);

/// A limit as a span of times of day.
pub fn duration(limit: Duration) -> chrono::Duration {
    chrono::Duration::from_std(limit).unwrap_or(chrono::Duration::MAX)
}
