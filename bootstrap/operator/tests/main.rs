//! The tests of declared providers.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod customize;
mod kills;
mod lives;
mod orders;
mod plan;
mod sources;
mod support;
