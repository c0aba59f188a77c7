//! Limits of names and of what programs print.

/// The longest name of a container, which is also its host name, in bytes.
pub const NAME: usize = 63;
/// The most bytes of the output that [`crate::run`] keeps, of each of both streams.
pub const CAPTURED: usize = 4 << 20;
