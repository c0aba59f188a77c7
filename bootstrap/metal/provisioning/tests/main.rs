//! The services of provisioning as machines see them.

mod api;
mod bad_input;
mod bootstrap;
mod hostile;
mod http;
mod registry;
