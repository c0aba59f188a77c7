//! Tests of `server::netboot`.

mod options;
mod subnet;
