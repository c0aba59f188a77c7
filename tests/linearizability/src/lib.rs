//! Checks the behaviour that clients observe, while the server is killed and while its disk and clock
//! misbehave, against the promises of docs/RELIABILITY.md.
//!
//! [`traffic`] writes and watches and records a [`history`]; [`check`] checks it. Two servers are tested: the
//! real process, which is killed, and one in this process ([`inside`]), whose disk and clock can be
//! controlled.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "this crate is a test")]

pub mod check;
pub mod disk;
pub mod history;
pub mod inside;
pub mod recreated;
mod registers;
mod revisions;
pub mod traffic;
mod watches;
