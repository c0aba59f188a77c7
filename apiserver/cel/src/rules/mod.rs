//! Evaluation of the validation rules of a schema on an object.

mod report;
mod tree;
mod walk;

pub use tree::Rules;
pub use walk::{Known, evaluations, limited, spent};
