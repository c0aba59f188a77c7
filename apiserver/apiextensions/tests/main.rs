//! Definitions and custom objects from outside: the verdicts of a real server, and input that nobody should send.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod any_input;
mod depth;
mod golden_crds;
mod golden_objects;
mod work;
