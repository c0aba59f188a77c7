//! What clients see of the server while it is killed, and while its disk and clock misbehave, checked against what docs/RELIABILITY.md
//! promises.
//!
//! [`traffic`] writes and watches and keeps a [`history`]; [`check`] judges it. Two servers are put
//! to it: the real process, which is killed, and [`inside`] one in this process, whose disk and clock can be reached.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "this crate is a test")]

pub mod check;
pub mod disk;
pub mod history;
pub mod inside;
mod registers;
mod revisions;
pub mod traffic;
mod watches;
