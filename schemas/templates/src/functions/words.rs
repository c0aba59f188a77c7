//! Splits names into words: `HTTPServer2x` is `http`, `server_2x`.

use super::casing::{is_connector, lower};

/// What a word consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Number,
    Upper,
    Letters,
    Connector,
    Punctuation,
    Other,
}

/// The words of a name in lower case, with the connector between them.
pub(super) fn joined(text: &str, connector: char) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut writer = Writer { output: String::new(), connector, rest: text, kind: Kind::None, word: "" };
    writer.advance();
    while !writer.rest.is_empty() {
        if writer.kind != Kind::Connector {
            writer.word();
        }
        let (before, last) = (writer.kind, writer.word);
        writer.advance();
        match before {
            Kind::Number => writer.number_tail(),
            Kind::Connector => writer.write(Kind::Connector, last),
            Kind::Punctuation => {}
            _ => writer.after_letters(),
        }
    }
    writer.word();
    writer.output
}

struct Writer<'a> {
    output: String,
    connector: char,
    rest: &'a str,
    kind: Kind,
    word: &'a str,
}

impl Writer<'_> {
    fn advance(&mut self) {
        let (kind, length) = next_word(self.rest);
        self.kind = kind;
        (self.word, self.rest) = self.rest.split_at(length);
    }

    fn word(&mut self) {
        self.write(self.kind, self.word);
    }

    fn write(&mut self, kind: Kind, word: &str) {
        for c in word.chars() {
            self.output.push(match kind {
                Kind::Upper | Kind::Connector if is_connector(c) => self.connector,
                Kind::Upper | Kind::Connector if c.is_uppercase() => lower(c),
                _ => c,
            });
        }
    }

    /// Letters and digits after a number belong to it.
    fn number_tail(&mut self) {
        while matches!(self.kind, Kind::Letters | Kind::Number) {
            self.word();
            self.advance();
        }
        if !matches!(self.kind, Kind::None | Kind::Punctuation | Kind::Connector) {
            self.output.push(self.connector);
        }
    }

    fn connect(&mut self) {
        if !matches!(self.kind, Kind::Connector | Kind::Punctuation) {
            self.output.push(self.connector);
        }
    }

    /// A number after letters belongs to them, unless lower case letters follow: then it begins a word.
    fn after_letters(&mut self) {
        if self.kind != Kind::Number {
            return self.connect();
        }
        if self.rest.is_empty() {
            return;
        }
        let number = self.word;
        self.advance();
        if self.kind != Kind::Letters {
            self.write(Kind::Number, number);
            return self.connect();
        }
        self.output.push(self.connector);
        self.write(Kind::Number, number);
        self.number_tail();
    }
}

/// The kind of the next word, and the number of its bytes.
fn next_word(text: &str) -> (Kind, usize) {
    let Some(first) = text.chars().next() else { return (Kind::None, 0) };
    let run = |matches: &dyn Fn(char) -> bool| text.find(|c| !matches(c)).unwrap_or(text.len());
    if is_connector(first) {
        return (Kind::Connector, run(&is_connector));
    }
    if is_punctuation(first) {
        return (Kind::Punctuation, run(&is_punctuation));
    }
    let is_small = |c: char| is_letter(c) && !c.is_uppercase();
    if first.is_uppercase() {
        let capitals = run(&char::is_uppercase);
        let after = text[capitals..].chars().next();
        if capitals > first.len_utf8() {
            // The last capital before small letters begins the next word.
            let last = text[..capitals].chars().next_back().map_or(0, char::len_utf8);
            let taken = if after.is_some_and(is_letter) { capitals - last } else { capitals };
            return (Kind::Upper, taken);
        }
        let small = text[capitals..].find(|c| !is_small(c)).unwrap_or(text.len() - capitals);
        return (Kind::Upper, capitals + small);
    }
    if is_letter(first) {
        return (Kind::Letters, run(&is_small));
    }
    if first.is_numeric() {
        return (Kind::Number, run(&char::is_numeric));
    }
    let is_known = |c: char| is_connector(c) || is_letter(c) || c.is_numeric() || is_punctuation(c);
    (Kind::Other, run(&|c| !is_known(c)))
}

/// A letter of a script that writes words: not of the Chinese ones.
fn is_letter(c: char) -> bool {
    let ideograph =
        matches!(c, '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}');
    c.is_alphabetic() && !ideograph
}

/// Punctuation as Unicode has it: of ASCII, not the symbols `$+<=>^\`|~`.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c);
    }
    matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}')
}
