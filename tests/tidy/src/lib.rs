//! Keeps the map true: dependency edges, circles of imports, folders, file and function sizes, what pages say of the tree.
//!
//! The rules are functions over plain data, so that each has a test that shows it can fail.

pub mod circles;
pub mod dependencies;
pub mod edges;
pub mod imports;
pub mod pages;
pub mod sources;
