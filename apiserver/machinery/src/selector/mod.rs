//! Label selectors and field selectors.

mod field;
mod label;

pub use self::field::{FieldSelector, FieldTerm};
pub use self::label::{LabelSelector, show_object};
