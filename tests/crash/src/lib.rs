//! What a power cut, a failing disk and a full disk do to the store.
//!
//! [`disk`] is a disk that remembers every write, so that it can be looked at as it could have been at any moment. [`script`] is the
//! work that the store does on it and what must be found afterwards. [`kill`] is for processes that are killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this crate is a test")]

pub mod disk;
pub mod kill;
pub mod script;
