//! Keeps the map true: dependency edges, folders, file and function sizes.
//!
//! The rules are functions over plain data, so that each has a test that shows it can fail.

pub mod edges;
pub mod sources;
