//! Texts in messages.

/// Message of a condition for a failure that only the log explains.
pub const INTERNAL_ERROR: &str = "Please check controller logs for errors";

/// Lists at most `limit` names, followed by the number of further names.
pub fn names(names: &[&str], limit: usize) -> String {
    match names.len().checked_sub(limit) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{}, ... ({more} more)", names[..limit].join(", ")),
    }
}
