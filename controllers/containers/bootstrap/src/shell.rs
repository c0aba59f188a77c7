//! Words of the shell: quoting them, and finding the commands in a text.

mod scan;

pub use scan::{Word, commands};

/// Returns `text` as one word of a POSIX shell. It must not have NUL bytes.
pub fn quote(text: &str) -> String {
    let safe = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '=' | ',' | '+' | '@')
    };
    if !text.is_empty() && text.chars().all(safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A change of a text: what is between two bytes is replaced.
pub type Edit = (std::ops::Range<usize>, String);

/// Applies changes that do not overlap, in any order.
pub fn edit(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut out = text.to_owned();
    edits.iter().for_each(|(range, new)| out.replace_range(range.clone(), new));
    out
}

/// Returns a text without `cloud-init-per FREQUENCY NAME` in front of its commands.
pub fn without_cloud_init_per(text: &str) -> String {
    let edits = commands(text).into_iter().filter_map(|command| match command.words.as_slice() {
        [per, _, _, first, ..] if per.value.as_deref() == Some("cloud-init-per") => {
            Some((per.start..first.start, String::new()))
        }
        _ => None,
    });
    edit(text, edits.collect())
}
