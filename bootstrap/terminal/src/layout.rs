//! Texts of others in columns and lines of a limited width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns a text for a cell of at most `width` columns: escaped, runs of white space as one space, and cut. A cell that is wider than the
/// terminal would go on at the beginning of the next line, where it could look like another row.
pub fn cell(text: &str, width: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&crate::line(&words.join(" ")), width)
}

/// Cuts a line after `width` columns; `…` stands for the rest.
pub fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut columns = 1;
    let fits = |c: &char| {
        columns += c.width().unwrap_or(0);
        columns <= width
    };
    line.chars().take_while(fits).chain((width > 0).then_some('…')).collect()
}

/// Breaks a line into lines of at most `width` columns, between words where that is possible; there is at least one.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let mut rest = word;
        loop {
            let Some(last) = lines.last_mut() else { return lines };
            let space = usize::from(!last.is_empty());
            if last.width() + space + rest.width() <= width {
                last.extend((space > 0).then_some(' '));
                last.push_str(rest);
                break;
            }
            if !last.is_empty() {
                lines.push(String::new());
                continue;
            }
            let end = fitting(rest, width);
            last.push_str(&rest[..end]);
            rest = &rest[end..];
            lines.push(String::new());
        }
    }
    lines
}

/// Returns the length in bytes of the characters that fit into `width` columns, at least one character.
fn fitting(word: &str, width: usize) -> usize {
    let mut columns = 0;
    for (at, c) in word.char_indices() {
        columns += c.width().unwrap_or(0);
        if columns > width && at > 0 {
            return at;
        }
    }
    word.len()
}
