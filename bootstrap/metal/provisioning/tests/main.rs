//! The netboot services as machines see them.

mod api;
mod bad_input;
mod hostile;
mod http;
mod packets;
mod recorded;
mod server;
mod tftp;
