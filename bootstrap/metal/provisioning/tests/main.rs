//! The services of provisioning as machines see them.

mod api;
#[path = "../../../bundle/tests/archives.rs"]
#[allow(dead_code, reason = "the tests of bundles need more of it")]
mod archives;
mod bad_input;
mod bootstrap;
mod hostile;
mod http;
mod registry;
