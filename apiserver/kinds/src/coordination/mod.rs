//! Leases.

pub(crate) mod kinds;
mod lease;
