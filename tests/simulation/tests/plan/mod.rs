//! Plans that begin with the state of a server.

mod foreign;
mod of_server;
mod reading;
mod server;
