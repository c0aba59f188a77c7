//! What clients see of the server while it is killed, and while its disk and clock misbehave, checked against what docs/RELIABILITY.md
//! promises.
//!
//! [`traffic`] writes and watches and keeps a [`history`]; [`check`] judges it. [`process`] and [`inside`] are the servers: the real
//! one, which is killed, and one in this process, whose disk and clock can be reached.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "this crate is a test")]

pub mod check;
pub mod disk;
pub mod history;
pub mod inside;
pub mod process;
mod registers;
mod revisions;
pub mod traffic;
mod watches;
