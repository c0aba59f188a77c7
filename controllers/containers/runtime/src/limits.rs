//! Limits of names and of what programs print.

/// The longest name of a container, which is also its host name, in bytes.
pub const NAME: usize = 63;
/// The most bytes of the output that [`crate::run`] keeps, of each of both streams.
pub const CAPTURED: usize = 4 << 20;
/// The most servers of a balancer.
pub const SERVERS: usize = 64;
/// The longest name of a server in bytes: that of a host (RFC 1035).
pub const SERVER_NAME: usize = 253;
