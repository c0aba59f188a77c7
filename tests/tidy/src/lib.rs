//! Checks that code and pages match docs/ARCHITECTURE.md and the tree: dependencies between crates, cycles of
//! imports, folders, sizes of files and functions, and references in pages.
//!
//! The rules are functions of plain data, and each has a test that shows a violation.

pub mod circles;
pub mod dependencies;
pub mod edges;
pub mod foreign;
pub mod impls;
pub mod imports;
pub mod limits;
pub mod map;
pub mod pages;
pub mod references;
pub mod sources;
