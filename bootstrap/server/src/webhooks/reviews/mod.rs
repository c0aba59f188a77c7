//! The answers to reviews, as pure functions of them.

mod admission;
mod conversion;
mod definitions;
pub mod json_patch;

pub use admission::{Purpose, admission, scaled};
pub use conversion::conversion;
pub use definitions::Definitions;
pub use definitions::{Needs, needs};

use serde_json::Value;

/// Checks kind and version of a review, and returns its request.
///
/// # Errors
/// What is wrong with the review.
fn request<'a>(review: &'a Value, api_version: &str, kind: &str) -> Result<&'a Value, String> {
    if review["apiVersion"] != api_version || review["kind"] != kind {
        return Err(format!("the body is no {kind} of {api_version}"));
    }
    let request = &review["request"];
    match text(request, "uid") {
        "" => Err(format!("the {kind} has no request.uid")),
        _ => Ok(request),
    }
}

/// Returns the text of a field; empty if it is no text.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
