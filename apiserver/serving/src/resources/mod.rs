//! Handlers of resources: the verbs, watch streams, and subresources in Rust.

pub(crate) mod connect;
pub(crate) mod event_lines;
pub(crate) mod mounted;
pub(crate) mod patches;
pub(crate) mod pods;
pub(crate) mod reads;
pub(crate) mod reviews;
pub(crate) mod watch;
pub(crate) mod watch_socket;
pub(crate) mod writes;
