//! The netboot services as machines see them.

mod api;
mod http;
mod packets;
mod recorded;
mod tftp;
