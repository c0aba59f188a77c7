//! Request bodies and manifests: JSON and YAML, strictly read.

mod document;
mod json;
mod problems;
mod yaml;
mod yaml_words;

pub use self::document::{Decoded, Format, number};
pub use self::json::json;
pub use self::problems::Problems;
pub use self::yaml::{yaml, yaml_documents};

/// Reads JSON that this server wrote itself, which is no deeper than what was let in. `serde_json` alone stops at 127 levels, which is
/// less than [`MAX_DEPTH`](crate::limits::MAX_DEPTH), and whoever reads with it would lose an object that was accepted.
///
/// # Errors
/// It is not JSON, or not of the type.
pub fn own<'t, T: serde::Deserialize<'t>>(text: &'t [u8]) -> serde_json::Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    T::deserialize(&mut deserializer)
}
