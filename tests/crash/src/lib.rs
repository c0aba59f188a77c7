//! Tests of the store, and of files outside of it, under power failures, failing disks and full disks.
//!
//! [`disk`] is a disk that records every write, so that its contents at any moment can be reconstructed.
//! [`files`] is such a file system. [`script`] is the work that the store performs on it, and the checks afterwards. [`kill`] is for tests
//! that kill processes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this crate is a test")]

pub mod disk;
pub mod files;
pub mod kill;
pub mod script;
