//! Names in messages.

/// At most `limit` names, then how many more there are.
pub fn names(names: &[&str], limit: usize) -> String {
    match names.len().checked_sub(limit) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{}, ... ({more} more)", names[..limit].join(", ")),
    }
}
