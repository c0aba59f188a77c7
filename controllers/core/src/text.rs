//! Lists of names in messages.

/// Lists at most `limit` names, followed by the number of further names.
pub fn names(names: &[&str], limit: usize) -> String {
    match names.len().checked_sub(limit) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{}, ... ({more} more)", names[..limit].join(", ")),
    }
}
