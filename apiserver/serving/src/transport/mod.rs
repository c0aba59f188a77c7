//! Connections: the listener, limits of connections, and the bytes on the wire.

pub(crate) mod body;
pub(crate) mod coalesce;
pub(crate) mod connections;
pub(crate) mod listener;
