//! Tests of the server from its clients' point of view.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends where something is missing")]

mod access;
mod audit;
mod common;
mod connection;
mod connections;
mod documents;
mod expiry;
mod flows;
mod forms;
mod given;
mod kinds;
mod large;
mod limits;
mod listener;
mod order;
mod paths;
mod roles;
mod sockets;
mod store;
mod token_secrets;
mod tokens;
mod verbs;
mod watch;
