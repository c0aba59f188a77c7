//! Connections: the listener, limits for connections, and combined writes.

pub mod body;
pub mod coalesce;
pub mod connections;
pub(crate) mod listener;
