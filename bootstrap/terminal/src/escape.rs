//! Characters that are shown as escapes.

use std::borrow::Cow;
use std::fmt::Write;

/// Characters that are invisible or change how others are shown, besides the control characters: each first and last one.
///
/// These are the characters of Unicode's categories Cf, Zl and Zp, those that a renderer ignores (`Default_Ignorable_Code_Point`), and the
/// fillers that look like nothing.
const INVISIBLE: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns whether a character is shown as an escape: a control character (C0, DEL, C1), or one that is invisible or changes how others are
/// shown.
pub fn is_unsafe(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let follows = INVISIBLE.partition_point(|(first, _)| *first <= c);
    c.is_control() || follows.checked_sub(1).is_some_and(|at| c <= INVISIBLE[at].1)
}

/// Returns a text as one line: line breaks and tabs are escaped, too. For a text that stands beside others, as a cell of a table.
///
/// The escapes are those of JSON, so JSON that is escaped again has the same values.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Returns a text of several lines: line breaks and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unsafe(c) && c != '\n' && c != '\t')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) { push(&mut shown, c) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

fn push(shown: &mut String, c: char) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String does not fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
}

/// Shows a stream of bytes as [`lines`] does, in pieces that may end within a character. Bytes that are not UTF-8 are shown like `\xff`.
#[derive(Debug, Default)]
pub struct Bytes {
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl Bytes {
    /// Returns the next piece as text.
    pub fn show(&mut self, piece: &[u8]) -> String {
        let bytes = [std::mem::take(&mut self.begun).as_slice(), piece].concat();
        let mut shown = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            shown.push_str(&lines(chunk.valid()));
            let is_begun = chunks.peek().is_none()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_begun {
                self.begun = chunk.invalid().to_vec();
            } else {
                push_bytes(&mut shown, chunk.invalid());
            }
        }
        shown
    }

    /// Returns what is left at the end of the stream.
    pub fn end(self) -> String {
        let mut shown = String::new();
        push_bytes(&mut shown, &self.begun);
        shown
    }
}

fn push_bytes(shown: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(shown, "\\x{byte:02x}");
    }
}
