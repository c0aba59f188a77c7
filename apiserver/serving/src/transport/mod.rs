//! Connections: the listener, limits for connections, and combined writes.

pub(crate) mod body;
pub(crate) mod coalesce;
pub(crate) mod connections;
pub(crate) mod listener;
