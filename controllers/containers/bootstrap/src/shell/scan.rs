//! Finds the simple commands of a shell text: where their words are, and what they say.
//!
//! It is no shell: it knows quoting, comments, operators, redirections, here-documents and command substitutions, which is
//! what keeps a text that only speaks of a command apart from the command.

use crate::limits::MAX_SHELL_DEPTH;

/// A simple command: its words without redirections.
#[derive(Debug, Default, PartialEq)]
pub struct Command {
    /// The words.
    pub words: Vec<Word>,
}

/// A word of a command.
#[derive(Debug, PartialEq)]
pub struct Word {
    /// Where it begins in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it says without quotes. `None` if the shell computes it.
    pub value: Option<String>,
}

/// Returns the simple commands of `text` in the order of their ends, with those in command substitutions.
pub fn commands(text: &str) -> Vec<Command> {
    let mut scan =
        Scan { text, bytes: text.as_bytes(), at: 0, depth: 0, found: Vec::new(), documents: Vec::new() };
    scan.list(None);
    scan.found
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    found: Vec<Command>,
    /// The ends of the here-documents that begin on the next line, and whether tabs in front of them are dropped.
    documents: Vec<(String, bool)>,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Reads commands up to `closer` or the end of the text.
    fn list(&mut self, closer: Option<u8>) {
        self.depth += 1;
        let mut command = Command::default();
        while let Some(byte) = self.peek(0) {
            if Some(byte) == closer {
                self.at += 1;
                break;
            }
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
                b'#' => self.skip_line(),
                b'\n' => {
                    self.at += 1;
                    self.skip_documents();
                    self.end(&mut command);
                }
                b'&' if self.peek(1) == Some(b'>') => {
                    self.at += 1;
                    self.redirection();
                }
                b';' | b'&' | b'|' | b'(' | b')' => {
                    self.at += 1;
                    self.end(&mut command);
                }
                b'<' | b'>' => self.redirection(),
                _ => self.next_word(&mut command, closer),
            }
        }
        self.end(&mut command);
        self.depth -= 1;
    }

    fn end(&mut self, command: &mut Command) {
        let command = std::mem::take(command);
        if !command.words.is_empty() {
            self.found.push(command);
        }
    }

    fn next_word(&mut self, command: &mut Command, closer: Option<u8>) {
        let word = self.word(closer);
        let is_number =
            word.value.as_deref().is_some_and(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
        // The number of a redirection is not a word of the command.
        if !(is_number && matches!(self.peek(0), Some(b'<' | b'>'))) {
            command.words.push(word);
        }
    }

    /// Skips an operator with the word behind it.
    fn redirection(&mut self) {
        if self.peek(1) == Some(b'(') {
            self.at += 2;
            self.substitution(b')');
            return;
        }
        let start = self.at;
        while matches!(self.peek(0), Some(b'<' | b'>' | b'&' | b'|' | b'-')) {
            self.at += 1;
        }
        let operator = &self.text[start..self.at];
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if matches!(self.peek(0), None | Some(b'\n' | b';' | b'&' | b'|' | b')')) {
            return;
        }
        let tabs = operator == "<<-";
        let word = self.word(None);
        if operator == "<<" || tabs {
            // The end of a here-document is not expanded.
            let end = word.value.unwrap_or_else(|| self.text[word.start..word.end].to_owned());
            self.documents.push((end, tabs));
        }
    }

    fn skip_documents(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.documents) {
            while self.at < self.bytes.len() {
                let start = self.at;
                self.skip_line();
                let line = &self.text[start..self.at];
                self.at = (self.at + 1).min(self.bytes.len());
                let line = if tabs { line.trim_start_matches('\t') } else { line };
                if line == end {
                    break;
                }
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn word(&mut self, closer: Option<u8>) -> Word {
        let start = self.at;
        let mut value = Some(Vec::new());
        while let Some(byte) = self.peek(0) {
            let ends =
                matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>');
            // A word has at least one byte, so that the scan always goes on.
            if (ends || Some(byte) == closer) && self.at > start {
                break;
            }
            match byte {
                b'\'' => self.single_quoted(&mut value),
                b'"' => self.double_quoted(&mut value),
                b'\\' => {
                    match self.peek(1) {
                        None | Some(b'\n') => {}
                        Some(next) => push(&mut value, next),
                    }
                    self.at = (self.at + 2).min(self.bytes.len());
                }
                b'$' | b'`' => self.expansion(&mut value),
                byte => {
                    push(&mut value, byte);
                    self.at += 1;
                }
            }
        }
        let value = value.and_then(|bytes| String::from_utf8(bytes).ok());
        Word { start, end: self.at, value }
    }

    fn single_quoted(&mut self, value: &mut Option<Vec<u8>>) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\'' {
                return;
            }
            push(value, byte);
        }
    }

    fn double_quoted(&mut self, value: &mut Option<Vec<u8>>) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' if matches!(self.peek(1), Some(b'"' | b'\\' | b'$' | b'`' | b'\n')) => {
                    if let Some(next) = self.peek(1).filter(|next| *next != b'\n') {
                        push(value, next);
                    }
                    self.at += 2;
                }
                b'$' | b'`' => self.expansion(value),
                byte => {
                    push(value, byte);
                    self.at += 1;
                }
            }
        }
    }

    /// Skips what the shell computes. The commands in a substitution are found, too.
    fn expansion(&mut self, value: &mut Option<Vec<u8>>) {
        let first = self.peek(0);
        let (next, third) = (self.peek(1), self.peek(2));
        self.at += 1;
        match (first, next) {
            (Some(b'`'), _) => {
                *value = None;
                self.substitution(b'`');
            }
            (_, Some(b'(')) if third == Some(b'(') => {
                *value = None;
                self.arithmetic();
            }
            (_, Some(b'(')) => {
                *value = None;
                self.at += 1;
                self.substitution(b')');
            }
            (_, Some(b'{')) => {
                *value = None;
                self.at += 1;
                self.parameter();
            }
            (_, Some(next)) if next.is_ascii_alphanumeric() || b"_@*#?-$!'".contains(&next) => *value = None,
            _ => push(value, b'$'),
        }
    }

    fn substitution(&mut self, closer: u8) {
        if self.depth < MAX_SHELL_DEPTH {
            self.list(Some(closer));
        } else {
            self.at = self.bytes.len();
        }
    }

    /// Skips the rest of `${NAME:-WORD}`. The commands in its word are found, too.
    fn parameter(&mut self) {
        if self.depth >= MAX_SHELL_DEPTH {
            self.at = self.bytes.len();
            return;
        }
        self.depth += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'}' => {
                    self.at += 1;
                    break;
                }
                b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
                b'"' => self.double_quoted(&mut None),
                b'$' | b'`' => self.expansion(&mut None),
                _ => self.at += 1,
            }
        }
        self.depth -= 1;
    }

    /// Skips the rest of `$((…))` from its first parenthesis on.
    fn arithmetic(&mut self) {
        let mut depth = 0usize;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'(' => depth += 1,
                b')' if depth <= 1 => return,
                b')' => depth -= 1,
                _ => {}
            }
        }
    }
}

fn push(value: &mut Option<Vec<u8>>, byte: u8) {
    if let Some(bytes) = value {
        bytes.push(byte);
    }
}
