//! The netboot services as machines see them.

mod api;
mod http;
mod recorded;
mod tftp;
