//! Strict decoding of request bodies and manifests in JSON and YAML.

mod document;
mod json;
mod problems;
mod yaml;
mod yaml_words;

pub use self::document::{Decoded, Format, number};
pub use self::json::json;
pub use self::problems::Problems;
pub use self::yaml::{yaml, yaml_documents, yaml_each};

/// Parses JSON that this server wrote, which is no deeper than accepted requests. `serde_json` refuses more than 127
/// levels by default, fewer than [`MAX_DEPTH`](crate::limits::MAX_DEPTH), so it would fail to read objects that were
/// accepted.
///
/// # Errors
/// The text is not JSON, or does not have the type `T`.
pub fn own<'t, T: serde::Deserialize<'t>>(text: &'t [u8]) -> serde_json::Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    T::deserialize(&mut deserializer)
}
