//! The lines of the tree to the left of a row.

const MIDDLE: &str = "├─";
const LAST: &str = "└─";
/// More follows below.
pub(super) const PIPE: &str = "│ ";
/// Nothing follows below.
pub(super) const BLANK: &str = "  ";

/// The prefix of a child of the row with the prefix `parent`.
pub(super) fn child(parent: &str, last: bool) -> String {
    format!("{}{}", below(parent), if last { LAST } else { MIDDLE })
}

/// The prefix of the lines below a row.
fn below(prefix: &str) -> String {
    prefix.replace(MIDDLE, PIPE).replace(LAST, BLANK)
}

/// The prefix of further lines of an object's message. It is empty for the last row of all.
pub(super) fn object_message(prefix: &str, children: bool, last_of_all: bool) -> String {
    match (last_of_all, children) {
        (true, _) => String::new(),
        (false, true) => format!("{}{PIPE}", below(prefix)),
        (false, false) => below(prefix),
    }
}

/// The prefix of further lines of a condition's message.
pub(super) fn condition_message(prefix: &str) -> String {
    match prefix.strip_suffix(MIDDLE) {
        Some(rest) => format!("{rest}{PIPE}"),
        None => prefix.strip_suffix(LAST).unwrap_or(prefix).to_owned(),
    }
}
