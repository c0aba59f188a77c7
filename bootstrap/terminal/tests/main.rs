//! What a stranger's text may do on a terminal: nothing.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod escape;
mod layout;
