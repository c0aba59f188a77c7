//! Breaks messages into lines that fit a terminal.

/// Lines longer than this are broken between words.
const WIDTH: usize = 100;

/// The lines of a message, broken and indented. Further lines of a list entry are aligned with the text after its bullet.
pub fn lines(message: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in message.split('\n') {
        let indent = " ".repeat(line.len() - line.trim_start_matches(' ').len());
        let further = if line.trim().starts_with("* ") { format!("{indent}  ") } else { indent.clone() };
        let mut current = indent;
        for word in words(line) {
            if current.len() + word.len() >= WIDTH {
                lines.push(std::mem::replace(&mut current, format!("{further}{word}")));
                continue;
            }
            if !current.trim().is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    lines
}

/// The words of a line; white space at the start or end gives an empty word there.
fn words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if line.starts_with(char::is_whitespace) {
        words.insert(0, "");
    }
    if line.ends_with(char::is_whitespace) || words.is_empty() {
        words.push("");
    }
    words
}

/// A message in the view of v1beta1: one line, cut off if too long.
pub(super) fn cut(message: &str) -> String {
    if message.len() <= WIDTH {
        return message.to_owned();
    }
    let end = (0..=WIDTH).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
    format!("{} ...", &message[..end])
}
