//! Devices of nodes, and the claims to them. Nothing here hands them out.

mod columns;
pub(crate) mod kinds;
