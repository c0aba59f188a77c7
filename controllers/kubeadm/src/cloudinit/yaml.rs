//! Writes YAML for cloud-init: scalars that are read back as the same text, and blocks for file contents.

use std::fmt::Write as _;

/// Returns `text` as a plain scalar if that is safe, else double-quoted.
pub fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Returns `text` double-quoted; JSON's escapes are valid in YAML.
pub fn quoted(text: &str) -> String {
    escaped(&serde_json::Value::from(text).to_string())
}

/// Returns JSON in which every character is one that YAML's readers accept. In a document with any other one they
/// refuse everything.
pub fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_printable(letter) {
            out.push(letter);
        } else {
            let _ = write!(out, "\\u{:04x}", u32::from(letter));
        }
    }
    out
}

/// Returns whether readers of YAML take a character for itself: none refuses it, and none takes it for a line break
/// or a mark of the byte order. What JSON escapes or lays out by itself counts as printable.
pub fn is_printable(letter: char) -> bool {
    let is_break_or_mark = matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    matches!(letter, '\n' | '\t') || (!letter.is_control() && !is_break_or_mark)
}

/// Returns `text` in single quotes, the usual form of file modes; double-quoted if it has characters that single
/// quotes cannot express.
pub fn single_quoted(text: &str) -> String {
    let printable = |letter: char| is_printable(letter) && !letter.is_control();
    if !text.chars().all(printable) { quoted(text) } else { format!("'{}'", text.replace('\'', "''")) }
}

/// Returns whether every YAML reader takes the plain `text` as exactly this string.
fn is_plain(text: &str) -> bool {
    let first_is_letter_or_slash = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let safe = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '=' | '@' | '+' | ',' | ' ')
    };
    let lower = text.to_ascii_lowercase();
    first_is_letter_or_slash
        && text.chars().all(safe)
        && !text.contains(": ")
        && !text.ends_with([' ', ':'])
        && !matches!(lower.as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n")
}

/// Returns `text` as the value after a key: a literal block whose lines are indented by `indent`, below a
/// parent indented by `indent - 2`.
///
/// A block ends in exactly one line break, as Cluster API writes files, and its lines end as on the host: scripts
/// from an editor of Windows would not find their interpreter. Text that a block cannot hold becomes a quoted scalar.
pub fn block(text: &str, indent: usize) -> String {
    let text = text.replace("\r\n", "\n");
    if text.trim().is_empty() || !text.chars().all(is_printable) {
        return quoted(&text);
    }
    let body = text.strip_suffix('\n').unwrap_or(&text);
    // A YAML reader would take leading blanks for indentation and drop trailing line breaks.
    let indicator = if text.starts_with([' ', '\t', '\n']) { "2" } else { "" };
    let keep = if body.ends_with('\n') { "+" } else { "" };
    let padding = " ".repeat(indent);
    let lines: Vec<String> = body
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("{padding}{line}") })
        .collect();
    format!("|{indicator}{keep}\n{}", lines.join("\n"))
}
