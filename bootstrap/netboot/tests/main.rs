//! Tests of the network boot services from the machines' side.

mod api;
mod bad_input;
mod hostile;
mod http;
mod packets;
mod recorded;
mod server;
mod tftp;
