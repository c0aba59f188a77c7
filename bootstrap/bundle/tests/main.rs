//! Tests of bundles: what is written is read, and what is hostile is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

pub(crate) mod archives;
mod content;
mod digest;
mod hostile;
mod names;
mod platforms;
mod reference;
mod table;
