//! Writes YAML for cloud-init: scalars that are read back as the same text, and blocks for file contents.

/// Returns `text` as a plain scalar if that is safe, else double-quoted.
pub fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Returns `text` double-quoted; JSON's escapes are valid in YAML.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns `text` in single quotes, the usual form of file modes; double-quoted if it has control characters,
/// which single quotes cannot express.
pub fn single_quoted(text: &str) -> String {
    if text.chars().any(char::is_control) { quoted(text) } else { format!("'{}'", text.replace('\'', "''")) }
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
/// A block ends in exactly one line break, as Cluster API writes files. Text that a block cannot hold becomes
/// a quoted scalar.
pub fn block(text: &str, indent: usize) -> String {
    let printable = |c: char| {
        c == '\n'
            || c == '\t'
            || (!c.is_control() && !matches!(c, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}'))
    };
    if text.trim().is_empty() || !text.chars().all(printable) {
        return quoted(text);
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
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
