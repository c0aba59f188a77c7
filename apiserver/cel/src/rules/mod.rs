//! Rules on an object: which run, on what, and what is reported.

mod report;
mod tree;
mod walk;

pub use tree::Rules;
pub use walk::{Known, evaluations, spent};
