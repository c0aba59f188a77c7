//! Texts in messages.

/// Message of a condition when something failed that only the log explains.
pub const INTERNAL_ERROR: &str = "Please check controller logs for errors";

/// At most `limit` names, then how many more there are.
pub fn names(names: &[&str], limit: usize) -> String {
    match names.len().checked_sub(limit) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{}, ... ({more} more)", names[..limit].join(", ")),
    }
}
