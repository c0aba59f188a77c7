//! Tests of real clients against a fresh server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod kube_rs;
mod newcomer;
mod pattern;
mod programs;
mod proxies;
mod registry;
mod scenarios;
mod session;
mod suites;
mod transcript;
mod transcripts;
