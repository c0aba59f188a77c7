//! Tests of the engine over clients whose servers belong to the tests.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod controller;
mod events;
mod planned;
mod support;
