//! Fuzzing of all parsers of client input, with the stable toolchain.
//!
//! [`mutate`] changes inputs of a corpus, as bytes and as JSON; [`grammar`] generates deep, wide and
//! repetitive ones; [`targets`] are the parsers, each with checks of its result. Results serve as a
//! substitute for coverage: an input whose result has a new form is added to the pool. Each target runs in
//! its own process and records each input before parsing it, so that stack overflows and endless loops are
//! found, too. [`patterns`] compares regular expressions with those of Go.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this crate is a test")]

mod answers;
pub mod classes;
pub mod corpus;
pub mod grammar;
pub mod mutate;
pub mod packets;
pub mod patterns;
mod readers;
pub mod rmcp;
pub mod spdy;
pub mod targets;
pub mod templates;
