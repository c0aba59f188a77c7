//! Every limit of DHCP, of TFTP, and of the files that images are made of.

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
/// Addresses of another DHCP server that are remembered.
pub const OBSERVED: usize = 4096;
/// Machines whose address another one has leased, and whose lease objects are not deleted yet.
pub const DISPLACED: usize = 4096;
/// How long an observed address of another DHCP server is attributed to its machine.
pub const OBSERVED_TIME: Duration = Duration::from_secs(24 * 3600);
/// The largest kernel module, in bytes after decompression. Modules are read into memory.
pub const MODULE_BYTES_MAX: u64 = 256 << 20;

/// Converts a limit to a `chrono` duration.
pub fn duration(limit: Duration) -> chrono::Duration {
    chrono::Duration::from_std(limit).unwrap_or(chrono::Duration::MAX)
}
