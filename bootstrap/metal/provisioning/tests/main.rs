//! The services of provisioning as machines see them.

mod api;
mod asking;
mod bad_input;
mod bootstrap;
mod hostile;
mod http;
mod registry;
