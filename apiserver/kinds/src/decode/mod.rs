//! Decoding of built-in kinds. On a real API server their types are Go structs, which shows in the error messages.

mod empty;
mod json_error;
mod structure;
mod time;

pub use empty::empty;
pub use json_error::json_error;
pub use structure::{check_delete_options, decode};
pub(crate) use structure::{read, read_list};
