//! The parts of the program that decide without doing: tables, plans, parsers, and what is drawn.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod cli;
mod commands;
mod envtest;
mod handed_over;
mod install;
mod logging;
mod manifests;
mod tree;
