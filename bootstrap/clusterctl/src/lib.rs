//! clusterctl's verbs, as far as they need no terminal: what they read, decide and print.
//!
//! The words of errors and outputs that scripts depend on are those of clusterctl 1.14.

pub mod connection;
mod error;

pub use error::{Context, Error, Result};
