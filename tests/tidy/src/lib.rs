//! Checks that the code matches docs/ARCHITECTURE.md: dependencies between crates, folders, and sizes of
//! files and functions.
//!
//! The rules are functions of plain data, and each has a test that shows a violation.

pub mod edges;
pub mod sources;
