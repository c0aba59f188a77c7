//! Fuzzing of everything that reads what clients send, with the stable toolchain.
//!
//! [`mutate`] changes inputs of a kept corpus, byte by byte and as JSON; [`grammar`] makes deep, wide and repeated ones; [`targets`] are
//! the readers, each with what must hold of its answer. What a reader answers stands in for coverage: an input with an answer of a new form joins the pool. The program runs each
//! target in a process of its own, so that an overflowing stack or an endless loop is found, too, and writes down the input first.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this crate is a test")]

pub mod corpus;
pub mod grammar;
pub mod mutate;
pub mod packets;
pub mod rmcp;
pub mod targets;
